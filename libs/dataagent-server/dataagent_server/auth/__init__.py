"""Who is calling: credentials, tokens and the one place that turns them into a `Principal`."""

from dataagent_server.auth.authenticator import Authenticator
from dataagent_server.auth.credentials import Credentials, read_credentials
from dataagent_server.auth.tokens import COOKIE, LoginTokens

__all__ = ["COOKIE", "Authenticator", "Credentials", "LoginTokens", "read_credentials"]
