"""The HTTP API: every route names its function and the scope that a token must have."""

# In jsii's stubs a class and its protocol name parameters differently; mypy checks the arguments all the same.
# pyright: reportArgumentType=false

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_authorizers import HttpJwtAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.functions import LOG_GROUP_PREFIX, LOG_RETENTION
from infra.settings import Settings
from infra.specs import FUNCTIONS, FunctionSpec, Scope

LOGGED: Final = {
    "request_id": "$context.requestId",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "integration_error": "$context.integrationErrorMessage",
    "authorizer_error": "$context.authorizer.error",
}
"""What a call's log line holds: no path, address or token, since paths name people."""


def add_api(scope: Construct, functions: Mapping[str, lambda_.Function], settings: Settings) -> apigateway.HttpApi:
    """Adds the API with its authorizer, its routes and an access log."""
    authorizer = HttpJwtAuthorizer("TokenAuthorizer", settings.issuer_url, jwt_audience=[settings.audience])
    api = apigateway.HttpApi(
        scope,
        "Api",
        default_authorizer=authorizer,
        create_default_stage=False,
        cors_preflight=_cors(settings),
    )
    _add_stage(scope, api)
    for spec in FUNCTIONS:
        if spec.routes:
            _add_routes(api, spec, functions[spec.folder])
    return api


def _cors(settings: Settings) -> apigateway.CorsPreflightOptions | None:
    """Which web pages may call from a browser: closed unless the deploy names them.

    The gateway knows one setting for all of its routes. An operator's token has no place in a page, and without one a
    page reaches nothing; a token is sent as a header, so that no cookie has to be allowed.
    """
    if not settings.inbox_origins:
        return None
    inbox = next(spec for spec in FUNCTIONS if spec.scope is Scope.INBOX)
    return apigateway.CorsPreflightOptions(
        allow_origins=list(settings.inbox_origins),
        allow_methods=[
            apigateway.CorsHttpMethod[method] for method in sorted({key.split()[0] for key in inbox.routes})
        ],
        allow_headers=["authorization", "content-type"],
        expose_headers=["retry-after"],
        max_age=Duration.hours(1),
    )


def _add_routes(api: apigateway.HttpApi, spec: FunctionSpec, function: lambda_.Function) -> None:
    if spec.scope is None:
        raise ValueError(f"{spec.folder} has routes but no scope: anyone with a token could call it")
    integration = HttpLambdaIntegration(f"{spec.name}Integration", function, scope_permission_to_route=False)
    for route in spec.routes:
        method, path = route.split()
        api.add_routes(
            path=path,
            methods=[apigateway.HttpMethod[method]],
            integration=integration,
            authorization_scopes=[spec.scope.value],
        )


def _add_stage(scope: Construct, api: apigateway.HttpApi) -> None:
    log_group = logs.LogGroup(
        scope,
        "ApiLogs",
        log_group_name=f"{LOG_GROUP_PREFIX}api",
        retention=LOG_RETENTION,
        removal_policy=RemovalPolicy.DESTROY,
    )
    apigateway.CfnStage(
        scope,
        "ApiStage",
        api_id=api.api_id,
        stage_name="$default",
        auto_deploy=True,
        access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log_group.log_group_arn, format=json.dumps(LOGGED)
        ),
    )
