"""Who is calling: credentials, tokens and the one place that turns them into a `Principal`."""

from dataagent_server.auth.api_key import APIKeyAuth
from dataagent_server.auth.authenticator import Authenticator
from dataagent_server.auth.cookie import drop_login_cookie, set_login_cookie
from dataagent_server.auth.credentials import Credentials, read_credentials
from dataagent_server.auth.tokens import COOKIE, LoginTokens

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
