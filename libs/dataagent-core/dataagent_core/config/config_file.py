"""`config.toml` in the data directory: settings that are not in the environment.

`dataagent init` writes it; a person may. It holds any setting by its own name (`model`,
`openai_api_key`, …) and counts less than the environment and `.env`. It is only read here.
Above: `Settings`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from dataagent_core.errors import Misconfigured

CONFIG_NAME = "config.toml"
_HINT = "correct the file, or move it away and run: dataagent init"


def read_config(path: Path) -> dict[str, Any]:
    """What stands in the file; nothing if there is none.

    Raises:
        Misconfigured: it cannot be read, or is no TOML; the message says where.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:  # said better by whoever needs the directory
        return {}
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _wrong(path, "is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, f"is not valid TOML: {error}") from error


def _wrong(path: Path, what: str) -> Misconfigured:
    return Misconfigured(f"The configuration file {path} {what}.", details={"hint": _HINT})


class ConfigFileSource(PydanticBaseSettingsSource):
    """The file as a source of settings; its place is what the sources before it say of `home`."""

    def __call__(self) -> dict[str, Any]:
        """The file's settings, under the names the other sources use.

        Raises:
            Misconfigured: as `read_config`.
        """
        home = self.current_state.get("home") or self.settings_cls.model_fields["home"].default
        written = read_config(Path(home).expanduser() / CONFIG_NAME)
        return InitSettingsSource(self.settings_cls, _known(self.settings_cls, written))()

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Nothing: the file is read as a whole, by the call."""
        return None, field_name, False


def _known(settings: type[BaseSettings], written: dict[str, Any]) -> dict[str, Any]:
    """What this program's settings know. Another's may stand in the same file."""
    return {name: value for name, value in written.items() if name in settings.model_fields}
