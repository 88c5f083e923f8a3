"""Authentication: credentials, tokens, and the `Authenticator` that verifies them."""

from dataagent_server.auth.api_key import APIKeyAuth
from dataagent_server.auth.authenticator import Authenticator
from dataagent_server.auth.credentials import (
    COOKIE,
    Credentials,
    LoginTokens,
    drop_login_cookie,
    read_credentials,
    set_login_cookie,
)

__all__ = [
    "COOKIE",
    "APIKeyAuth",
    "Authenticator",
    "Credentials",
    "LoginTokens",
    "drop_login_cookie",
    "read_credentials",
    "set_login_cookie",
]
