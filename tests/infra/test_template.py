"""What the emulator doesn't check: read from the template that a real account gets."""

from typing import Any

import pytest

from tests.infra.templates import Properties, Template, plain, referred, synthesize

DAY_SECONDS = 86_400
LOOPING = {"ProcessRequests", "DeliverChat", "DeliverText", "DeliverSystem", "ReconcileRequests", "RecordDeadLetters"}
FUNCTIONS = [
    "ProcessRequests",
    "DeliverChat",
    "DeliverText",
    "DeliverSystem",
    "RecordReceipts",
    "RecordDeadLetters",
    "ReconcileRequests",
    "SweepDue",
    "SweepNightly",
    "ServeOperators",
    "ServeInbox",
]
GATEWAY_SECONDS = 30
CONSUMERS = {
    "RequestsQueue": ("ProcessRequests", 50),
    "ChatQueue": ("DeliverChat", 50),
    "TextQueue": ("DeliverText", 20),
    "SystemQueue": ("DeliverSystem", 2),
    "ReceiptsQueue": ("RecordReceipts", 20),
    "ReconcileQueue": ("ReconcileRequests", 20),
    "RequestsDeadLetters": ("RecordDeadLetters", 2),
    "ChatDeadLetters": ("RecordDeadLetters", 2),
    "TextDeadLetters": ("RecordDeadLetters", 2),
    "SystemDeadLetters": ("RecordDeadLetters", 2),
    "ReceiptsDeadLetters": ("RecordDeadLetters", 2),
    "ReconcileDeadLetters": ("RecordDeadLetters", 2),
}
QUEUES = [name for name in CONSUMERS if name.endswith("Queue")]
TABLE_KEYS = {
    "RegistryTable": ["pk HASH", "sk RANGE"],
    "DirectoryTable": ["pk HASH", "sk RANGE"],
    "RequestsTable": ["pk HASH"],
    "NoticesTable": ["pk HASH", "sk RANGE"],
}
HISTORY_FIELDS = {
    "definition",
    "definition_version",
    "request_key",
    "replacement_key",
    "fold_key",
    "state",
    "reason",
    "published_at",
    "not_before",
    "expires_at",
    "recorded_at",
    "closed_at",
    "differing_repeat_at",
}
INDEXES = {
    ("RequestsTable", "due"): (
        ["due_shard HASH", "due_at RANGE"],
        "INCLUDE",
        {"definition", "state", "version"},
    ),
    ("RequestsTable", "history"): (
        ["history_shard HASH", "history_key RANGE"],
        "INCLUDE",
        HISTORY_FIELDS,
    ),
    ("RequestsTable", "dead_lettered"): (
        ["dead_lettered_shard HASH", "history_key RANGE"],
        "INCLUDE",
        HISTORY_FIELDS,
    ),
    ("NoticesTable", "inbox"): (["pk HASH", "inbox RANGE"], "KEYS_ONLY", set()),
    ("NoticesTable", "attention"): (["attention_shard HASH", "failed_at RANGE"], "KEYS_ONLY", set()),
}
ROUTES = {
    "PUT /v1/workspaces/{ws}": "notify/operator",
    "PUT /v1/workspaces/{ws}/people/{person}": "notify/operator",
    "PUT /v1/workspaces/{ws}/definitions/{key}": "notify/operator",
    "GET /v1/workspaces/{ws}/definitions/{key}": "notify/operator",
    "DELETE /v1/workspaces/{ws}/definitions/{key}": "notify/operator",
    "GET /v1/workspaces/{ws}/definitions": "notify/operator",
    "POST /v1/workspaces/{ws}/requests": "notify/operator",
    "POST /v1/workspaces/{ws}/withdrawals": "notify/operator",
    "GET /v1/workspaces/{ws}/requests": "notify/operator",
    "GET /v1/workspaces/{ws}/requests/{request_id}": "notify/operator",
    "POST /v1/workspaces/{ws}/requests/{request_id}/reprocess": "notify/operator",
    "GET /v1/workspaces/{ws}/notices/{recipient}/{notice_id}": "notify/operator",
    "POST /v1/workspaces/{ws}/notices/{recipient}/{notice_id}/deliveries/{channel}/retry": "notify/operator",
    "GET /v1/workspaces/{ws}/deliveries": "notify/operator",
    "POST /v1/workspaces/{ws}/deliveries/retry": "notify/operator",
    "GET /v1/inbox": "notify/inbox",
    "GET /v1/inbox/unread": "notify/inbox",
    "POST /v1/inbox/{notice_id}/read": "notify/inbox",
    "POST /v1/inbox/read_all": "notify/inbox",
}
SERVED_BY = {"notify/operator": "ServeOperators", "notify/inbox": "ServeInbox"}


def mappings(template: Template) -> dict[str, Properties]:
    """The event source mappings by the queue that they read."""
    return {
        referred(mapping["EventSourceArn"]): mapping
        for mapping in template.of_type("AWS::Lambda::EventSourceMapping").values()
    }


def timeout_seconds(template: Template, function: str) -> int:
    seconds: int = template.of_type("AWS::Lambda::Function")[f"{function}Function"]["Timeout"]
    return seconds


@pytest.mark.parametrize("function", ["ServeOperators", "ServeInbox"])
def test_a_function_answers_before_the_gateway_gives_up(cloud: Template, function: str) -> None:
    assert timeout_seconds(cloud, function) < GATEWAY_SECONDS


def test_a_sweep_ends_before_the_next_begins(cloud: Template) -> None:
    assert timeout_seconds(cloud, "SweepDue") < 60


def test_each_queue_starts_its_function_up_to_a_maximum(cloud: Template) -> None:
    assert {
        queue: (
            referred(mapping["FunctionName"]).removesuffix("Function"),
            mapping["ScalingConfig"]["MaximumConcurrency"],
        )
        for queue, mapping in mappings(cloud).items()
    } == CONSUMERS


@pytest.mark.parametrize("queue", CONSUMERS)
def test_a_message_stays_hidden_for_six_timeouts_of_its_function(cloud: Template, queue: str) -> None:
    function, _ = CONSUMERS[queue]
    hidden_seconds = cloud.of_type("AWS::SQS::Queue")[queue]["VisibilityTimeout"]
    assert hidden_seconds >= 6 * timeout_seconds(cloud, function)


@pytest.mark.parametrize("queue", CONSUMERS)
def test_a_batch_is_ten_messages_without_waiting_and_fails_in_part(cloud: Template, queue: str) -> None:
    mapping = mappings(cloud)[queue]
    assert mapping["BatchSize"] == 10
    assert mapping.get("MaximumBatchingWindowInSeconds", 0) == 0
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping.get("Enabled", True)


@pytest.mark.parametrize("queue", CONSUMERS)
def test_a_queue_keeps_messages_for_14_days_encrypted(cloud: Template, queue: str) -> None:
    properties = cloud.of_type("AWS::SQS::Queue")[queue]
    assert properties["MessageRetentionPeriod"] == 14 * DAY_SECONDS
    assert properties["SqsManagedSseEnabled"] is True
    assert "FifoQueue" not in properties


@pytest.mark.parametrize("queue", QUEUES)
def test_a_message_becomes_a_dead_letter_after_five_receives_or_more(cloud: Template, queue: str) -> None:
    redrive = cloud.of_type("AWS::SQS::Queue")[queue]["RedrivePolicy"]
    assert redrive["maxReceiveCount"] >= 5
    assert referred(redrive["deadLetterTargetArn"]) == queue.replace("Queue", "DeadLetters")


@pytest.mark.parametrize("queue", CONSUMERS)
def test_a_queue_refuses_what_is_not_encrypted_in_transit(cloud: Template, queue: str) -> None:
    policies = [
        policy
        for policy in cloud.of_type("AWS::SQS::QueuePolicy").values()
        if [referred(name) for name in policy["Queues"]] == [queue]
    ]
    statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    assert [(statement["Effect"], statement["Condition"]) for statement in statements] == [
        ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    ]


def test_only_functions_that_a_message_can_lead_back_to_may_loop(cloud: Template) -> None:
    functions = cloud.of_type("AWS::Lambda::Function")
    assert {name: function["RecursiveLoop"] for name, function in functions.items()} == {
        f"{name}Function": "Allow" if name in LOOPING else "Terminate" for name in FUNCTIONS
    }


def test_every_function_runs_python_on_arm_with_both_layers_and_a_log_of_its_own(cloud: Template) -> None:
    for name, function in cloud.of_type("AWS::Lambda::Function").items():
        assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
        assert function["Handler"] == "handler.handler"
        assert [referred(layer) for layer in function["Layers"]] == ["DependenciesLayer", "CoreLayer"]
        assert "TracingConfig" not in function
        logging = function["LoggingConfig"]
        assert referred(logging["LogGroup"]) == name.replace("Function", "Logs")
        assert (logging["LogFormat"], logging["SystemLogLevel"]) == ("JSON", "WARN")


def test_logs_end_after_a_month(cloud: Template) -> None:
    groups = cloud.of_type("AWS::Logs::LogGroup")
    assert {name: group["RetentionInDays"] for name, group in groups.items()} == {
        f"{name}Logs": 30 for name in (*FUNCTIONS, "Api")
    }


def key_schema(keys: list[dict[str, str]]) -> list[str]:
    return [f"{key['AttributeName']} {key['KeyType']}" for key in keys]


def test_the_tables_have_these_keys_of_text(cloud: Template) -> None:
    tables = cloud.of_type("AWS::DynamoDB::Table")
    assert {name: key_schema(table["KeySchema"]) for name, table in tables.items()} == TABLE_KEYS
    kinds = {attribute["AttributeType"] for table in tables.values() for attribute in table["AttributeDefinitions"]}
    assert kinds == {"S"}


def test_the_tables_have_these_indexes(cloud: Template) -> None:
    found = {
        (name, index["IndexName"]): (
            key_schema(index["KeySchema"]),
            index["Projection"]["ProjectionType"],
            set(index["Projection"].get("NonKeyAttributes", [])),
        )
        for name, table in cloud.of_type("AWS::DynamoDB::Table").items()
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for index in table.get(kind, [])
    }
    assert found == INDEXES


def test_the_inbox_can_be_read_consistently(cloud: Template) -> None:
    local = cloud.of_type("AWS::DynamoDB::Table")["NoticesTable"]["LocalSecondaryIndexes"]
    assert [index["IndexName"] for index in local] == ["inbox"]


@pytest.mark.parametrize("table", TABLE_KEYS)
def test_a_table_is_paid_by_use_encrypted_and_can_be_set_back(cloud: Template, table: str) -> None:
    properties = cloud.of_type("AWS::DynamoDB::Table")[table]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["SSESpecification"] == {"SSEEnabled": True}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_what_ends_is_deleted_by_its_time(cloud: Template) -> None:
    tables = cloud.of_type("AWS::DynamoDB::Table")
    ending = {"AttributeName": "delete_at", "Enabled": True}
    assert {name: table.get("TimeToLiveSpecification") for name, table in tables.items()} == {
        "RegistryTable": None,
        "DirectoryTable": None,
        "RequestsTable": ending,
        "NoticesTable": ending,
    }


def protection(template: Template) -> dict[str, tuple[Any, Any, Any]]:
    return {
        plain(name): (
            resource["Properties"]["DeletionProtectionEnabled"],
            resource["DeletionPolicy"],
            resource["UpdateReplacePolicy"],
        )
        for name, resource in template.resources.items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }


def test_protected_tables_outlive_the_stack(cloud: Template, protected: Template) -> None:
    assert protection(cloud) == dict.fromkeys(TABLE_KEYS, (False, "Delete", "Delete"))
    assert protection(protected) == dict.fromkeys(TABLE_KEYS, (True, "Retain", "Retain"))


def test_every_route_asks_for_a_token_with_its_scope(cloud: Template) -> None:
    routes = cloud.of_type("AWS::ApiGatewayV2::Route").values()
    assert {route["RouteKey"]: route["AuthorizationScopes"] for route in routes} == {
        route: [scope] for route, scope in ROUTES.items()
    }
    assert {(route["AuthorizationType"], referred(route["AuthorizerId"])) for route in routes} == {
        ("JWT", "ApiTokenAuthorizer")
    }


def test_every_route_leads_to_the_function_of_its_scope(cloud: Template) -> None:
    integrations = {
        name: referred(integration["IntegrationUri"])
        for name, integration in cloud.of_type("AWS::ApiGatewayV2::Integration").items()
    }
    for route in cloud.of_type("AWS::ApiGatewayV2::Route").values():
        integration = plain(route["Target"]["Fn::Join"][1][1]["Ref"])
        scope = ROUTES[route["RouteKey"]]
        assert integrations[integration] == f"{SERVED_BY[scope]}Function"


def test_tokens_come_from_the_chosen_issuer_for_us(cloud: Template) -> None:
    assert [
        authorizer["JwtConfiguration"] for authorizer in cloud.of_type("AWS::ApiGatewayV2::Authorizer").values()
    ] == [{"Audience": ["notify"], "Issuer": "https://issuer.example.com"}]


def test_a_call_is_logged_without_who_called_or_whom_it_is_about(cloud: Template) -> None:
    (stage,) = cloud.of_type("AWS::ApiGatewayV2::Stage").values()
    logged = stage["AccessLogSettings"]["Format"]
    assert "$context.routeKey" in logged
    assert [word for word in ("path", "identity", "sourceIp", "claims") if word in logged] == []


def test_sweeps_run_every_minute_and_every_night(cloud: Template) -> None:
    schedules = cloud.of_type("AWS::Scheduler::Schedule").values()
    assert {
        referred(schedule["Target"]["Arn"]): (
            schedule["ScheduleExpression"],
            schedule["State"],
            schedule["Target"]["Input"],
            schedule["Target"]["RetryPolicy"],
        )
        for schedule in schedules
    } == {
        "SweepDueFunction": (
            "rate(1 minute)",
            "ENABLED",
            "{}",
            {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 1},
        ),
        "SweepNightlyFunction": (
            "cron(17 2 * * ? *)",
            "ENABLED",
            "{}",
            {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 1},
        ),
    }


def test_the_secret_of_cursors_is_made_by_the_deploy(cloud: Template) -> None:
    assert [
        (secret["Name"], secret["GenerateSecretString"])
        for secret in cloud.of_type("AWS::SecretsManager::Secret").values()
    ] == [("notify/cursor", {"ExcludePunctuation": True, "PasswordLength": 64})]


def test_a_deploy_tells_where_everything_is(cloud: Template) -> None:
    named = [name.removesuffix("Queue") for name in QUEUES]
    assert set(cloud.outputs) == {
        "ApiId",
        "ApiUrl",
        *(f"{name}Name" for name in TABLE_KEYS),
        *(f"{name}QueueUrl" for name in named),
        *(f"{name}DeadLettersUrl" for name in named),
        *(f"{name}FunctionName" for name in FUNCTIONS),
    }


def test_no_web_page_may_call_unless_its_origin_is_named(cloud: Template) -> None:
    (closed,) = cloud.of_type("AWS::ApiGatewayV2::Api").values()
    assert "CorsConfiguration" not in closed
    named = synthesize(inbox_origins="https://app.example.com,https://example.org:8443")
    (api,) = named.of_type("AWS::ApiGatewayV2::Api").values()
    assert api["CorsConfiguration"] == {
        "AllowOrigins": ["https://app.example.com", "https://example.org:8443"],
        "AllowMethods": ["GET", "POST"],
        "AllowHeaders": ["authorization", "content-type"],
        "ExposeHeaders": ["retry-after"],
        "MaxAge": 3600,
    }
    assert not [route for route in named.of_type("AWS::ApiGatewayV2::Route").values() if "OPTIONS" in route["RouteKey"]]
