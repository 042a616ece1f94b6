"""The server's own log: JSON lines on the standard error, where no program looks for answers.

A traceback names files and lines, and never what the variables held: a secret may be among them.
"""

import sys

import structlog


def configure() -> None:
    """Once in every process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
