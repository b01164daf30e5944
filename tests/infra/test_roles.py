"""What each function may do: typed by hand from what it has to do."""

import pytest

from tests.infra.templates import Template, many, plain

SEND_ALL = {
    "RequestsQueue": "SendMessage",
    "ChatQueue": "SendMessage",
    "TextQueue": "SendMessage",
    "SystemQueue": "SendMessage",
    "ReconcileQueue": "SendMessage",
}
READ_ALL_INDEXES = {
    "RequestsTable/index/due": "Query",
    "RequestsTable/index/history": "Query",
    "RequestsTable/index/dead_lettered": "Query",
    "NoticesTable/index/inbox": "Query",
    "NoticesTable/index/attention": "Query",
}
DELIVER = {
    "RegistryTable": "GetItem PutItem Query",
    "DirectoryTable": "BatchGetItem GetItem",
    "RequestsTable": "BatchGetItem GetItem",
    "NoticesTable": "BatchGetItem GetItem PutItem Query",
}
REACH = {
    "ProcessRequests": SEND_ALL
    | {
        "RequestsQueue": "SendMessage consume",
        "RequestsDeadLetters": "SendMessage",
        "RegistryTable": "GetItem Query",
        "DirectoryTable": "BatchGetItem GetItem Query",
        "RequestsTable": "BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
        "NoticesTable": "BatchGetItem GetItem PutItem Query",
    },
    "DeliverChat": DELIVER
    | {"ChatQueue": "SendMessage consume", "secretsmanager:secret:notify/slack/*": "GetSecretValue"},
    "DeliverText": DELIVER | {"TextQueue": "SendMessage consume", "sms-voice:*": "SendTextMessage"},
    "DeliverSystem": DELIVER
    | {
        "SystemQueue": "SendMessage consume",
        "secretsmanager:secret:notify/slack/hq-??????": "GetSecretValue",
    },
    "RecordReceipts": {
        "ReceiptsQueue": "consume",
        "RequestsTable": "BatchGetItem GetItem",
        "NoticesTable": "GetItem PutItem",
    },
    "RecordDeadLetters": SEND_ALL
    | {
        "RequestsDeadLetters": "consume",
        "ChatDeadLetters": "consume",
        "TextDeadLetters": "consume",
        "SystemDeadLetters": "consume",
        "ReconcileDeadLetters": "consume",
        "ReceiptsDeadLetters": "consume",
        "RegistryTable": "GetItem",
        "DirectoryTable": "BatchGetItem GetItem",
        "RequestsTable": "BatchGetItem GetItem PutItem",
        "NoticesTable": "GetItem PutItem Query",
    },
    "ReconcileRequests": SEND_ALL
    | READ_ALL_INDEXES
    | {
        "ReconcileQueue": "SendMessage consume",
        "RegistryTable": "GetItem PutItem Query",
        "DirectoryTable": "BatchGetItem GetItem",
        "RequestsTable": "BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
        "NoticesTable": "BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
        "secretsmanager:secret:notify/slack/*": "GetSecretValue",
        "secretsmanager:secret:notify/slack/hq-??????": "GetSecretValue",
    },
    "SweepDue": {
        "ReconcileQueue": "GetQueueAttributes SendMessage",
        "RegistryTable": "GetItem Query",
        "RequestsTable/index/due": "Query",
    },
    "SweepNightly": {
        "ReconcileQueue": "GetQueueAttributes SendMessage",
        "RegistryTable": "GetItem Query",
    },
    "ServeOperators": SEND_ALL
    | READ_ALL_INDEXES
    | {
        "CursorSecret": "GetSecretValue",
        "RegistryTable": "ConditionCheckItem GetItem PutItem Query UpdateItem",
        "DirectoryTable": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem Query UpdateItem",
        "RequestsTable": "BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
        "NoticesTable": "BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
    },
    "ServeInbox": {
        "CursorSecret": "GetSecretValue",
        "RegistryTable": "GetItem",
        "RequestsTable": "BatchGetItem",
        "NoticesTable": "BatchGetItem GetItem PutItem Query UpdateItem",
        "NoticesTable/index/inbox": "Query",
    },
}


@pytest.mark.parametrize("name", REACH)
def test_a_function_may_do_what_it_has_to_and_write_its_own_log(cloud: Template, name: str) -> None:
    assert cloud.reach(f"{name}Role") == REACH[name] | {f"{name}Logs": "CreateLogStream PutLogEvents"}


def test_the_scheduler_may_start_the_sweeps_and_nothing_else(cloud: Template) -> None:
    assert cloud.reach("SchedulerRole") == {
        "SweepDueFunction": "InvokeFunction",
        "SweepNightlyFunction": "InvokeFunction",
    }


def test_each_function_has_a_role_of_its_own(cloud: Template) -> None:
    roles = {
        name: plain(function["Role"]["Fn::GetAtt"][0])
        for name, function in cloud.of_type("AWS::Lambda::Function").items()
    }
    assert roles == {f"{name}Function": f"{name}Role" for name in REACH}


def test_no_role_gets_its_rights_from_elsewhere(cloud: Template) -> None:
    roles = cloud.of_type("AWS::IAM::Role")
    assert set(roles) == {f"{name}Role" for name in REACH} | {"SchedulerRole"}
    assert [name for name, role in roles.items() if {"ManagedPolicyArns", "Policies"} & set(role)] == []


def test_no_action_is_a_wildcard(cloud: Template) -> None:
    actions = {
        action
        for policy in cloud.of_type("AWS::IAM::Policy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        for action in many(statement["Action"])
    }
    assert {action for action in actions if "*" in action} == set()
