"""`notify`: the platform at a terminal, for producers and operators. It talks HTTP and SQS, as any producer does."""
