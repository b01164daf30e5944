import pytest

from notify_core.application.ports import QueueName
from notify_core.settings import Settings, SettingUnusable


def test_what_is_set_is_read() -> None:
    settings = Settings.from_environment(
        {
            "AWS_LAMBDA_FUNCTION_NAME": "deliver_chat",
            "NOTIFY_REGISTRY_TABLE": "t-registry",
            "NOTIFY_DIRECTORY_TABLE": "t-directory",
            "NOTIFY_REQUESTS_TABLE": "t-requests",
            "NOTIFY_NOTICES_TABLE": "t-notices",
            "NOTIFY_CHAT_QUEUE_URL": "https://sqs.example/1/chat",
            "NOTIFY_CHAT_DEAD_LETTER_QUEUE_URL": "https://sqs.example/1/chat-dead",
            "NOTIFY_SLACK_BASE_URL": "http://127.0.0.1:1/slack/api/",
            "NOTIFY_SLACK_SECRET_PREFIX": "other/",
            "NOTIFY_HQ_CHANNEL": "C0HQ",
            "NOTIFY_SMS_ORIGINATION_IDENTITY": "ACME",
            "NOTIFY_SMS_CONFIGURATION_SET": "receipts",
            "NOTIFY_CURSOR_SECRET": "other/cursor",
        }
    )
    assert (
        settings.function_name,
        settings.registry_table,
        settings.directory_table,
        settings.requests_table,
        settings.notices_table,
        settings.queue_url(QueueName.CHAT),
        settings.dead_letter_queue_url(QueueName.CHAT),
        settings.slack_base_url,
        settings.slack_secret_prefix,
        settings.hq_channel,
        settings.sms_origination_identity,
        settings.sms_configuration_set,
        settings.cursor_secret,
    ) == (
        "deliver_chat",
        "t-registry",
        "t-directory",
        "t-requests",
        "t-notices",
        "https://sqs.example/1/chat",
        "https://sqs.example/1/chat-dead",
        "http://127.0.0.1:1/slack/api/",
        "other/",
        "C0HQ",
        "ACME",
        "receipts",
        "other/cursor",
    )


def test_what_is_not_needed_may_be_missing_and_has_its_default() -> None:
    settings = Settings.from_environment({})
    assert (
        settings.function_name,
        settings.slack_base_url,
        settings.slack_secret_prefix,
        settings.hq_channel,
        settings.sms_origination_identity,
        settings.sms_configuration_set,
        settings.cursor_secret,
    ) == ("notify", "https://slack.com/api/", "notify/slack/", "", "", "", "notify/cursor")


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("NOTIFY_REGISTRY_TABLE", lambda settings: settings.registry_table),
        ("NOTIFY_DIRECTORY_TABLE", lambda settings: settings.directory_table),
        ("NOTIFY_REQUESTS_TABLE", lambda settings: settings.requests_table),
        ("NOTIFY_NOTICES_TABLE", lambda settings: settings.notices_table),
        ("NOTIFY_SYSTEM_QUEUE_URL", lambda settings: settings.queue_url(QueueName.SYSTEM)),
        (
            "NOTIFY_RECEIPTS_DEAD_LETTER_QUEUE_URL",
            lambda settings: settings.dead_letter_queue_url(QueueName.RECEIPTS),
        ),
    ],
)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_what_is_needed_and_missing_is_named(name: str, ask, value: str | None) -> None:  # noqa: ANN001
    settings = Settings.from_environment({} if value is None else {name: value})
    with pytest.raises(SettingUnusable, match=f"{name} is not set: give the function the (name|URL) of"):
        ask(settings)


def test_an_address_that_is_none_is_named() -> None:
    settings = Settings.from_environment({"NOTIFY_CHAT_QUEUE_URL": "chat", "NOTIFY_SLACK_BASE_URL": "slack/"})
    with pytest.raises(SettingUnusable, match="NOTIFY_CHAT_QUEUE_URL is 'chat': it must be a URL"):
        settings.queue_url(QueueName.CHAT)
    with pytest.raises(SettingUnusable, match="NOTIFY_SLACK_BASE_URL is 'slack/': it must be a URL"):
        _ = settings.slack_base_url


def test_slack_s_address_ends_in_a_slash() -> None:
    settings = Settings.from_environment({"NOTIFY_SLACK_BASE_URL": "https://slack.example/api"})
    with pytest.raises(SettingUnusable, match="must end in a slash"):
        _ = settings.slack_base_url


def test_settings_show_no_value_when_printed() -> None:
    assert "C0HQ" not in repr(Settings.from_environment({"NOTIFY_HQ_CHANNEL": "C0HQ"}))
