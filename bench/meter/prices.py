"""What AWS charges: the on-demand list prices of us-east-1, in US dollars, without any free tier.

From the public pricing page of each service (Amazon DynamoDB, Amazon SQS, AWS Lambda, Amazon API Gateway, Amazon
CloudWatch, Amazon EventBridge, AWS Secrets Manager, Amazon EC2 "Data Transfer"), as known on the day below.
"""

from datetime import date
from typing import Final

DATED: Final = date(2026, 11, 30)
MILLION: Final = 1_000_000
GIGABYTE: Final = 1024**3
MONTH_HOURS: Final = 730
MONTH_DAYS: Final = MONTH_HOURS / 24

WRITE_UNIT: Final = 0.625 / MILLION
READ_UNIT: Final = 0.125 / MILLION
STORED_GB_MONTH: Final = 0.25
BACKED_UP_GB_MONTH: Final = 0.20
"""Point-in-time recovery, on top of the storage."""
SQS_REQUEST: Final = 0.40 / MILLION
SQS_FAIR_REQUEST: Final = 0.50 / MILLION
"""Of a standard queue whose messages have a group: fair queues cost a tenth of a dollar more."""
LAMBDA_GB_SECOND: Final = 13.3334 / MILLION
"""On arm64."""
LAMBDA_REQUEST: Final = 0.20 / MILLION
HTTP_API_REQUEST: Final = 1.00 / MILLION
LOGGED_GB: Final = 0.50
LOGS_STORED_GB_MONTH: Final = 0.03
METRIC_MONTH: Final = 0.30
ALARM_MONTH: Final = 0.10
DASHBOARD_MONTH: Final = 3.00
SCHEDULED: Final = 1.00 / MILLION
SECRET_MONTH: Final = 0.40
SENT_GB: Final = 0.09
"""To the internet: what Slack is sent."""
