"""A run file: the options of synth as YAML."""

from __future__ import annotations

from pathlib import Path

from dpfy.errors import SpecError


def arguments_of(file: Path) -> list[str]:
    """Turns a run file into arguments of synth.

    Args:
        file: YAML with `source` and options, e.g. `max_records_per_user: 5`; lists repeat an option.

    Raises:
        SpecError: when the file can't be read as that.
    """
    import yaml

    try:
        held = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"there is no file {file.name!r}.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise SpecError(f"{file.name!r} is no readable YAML.") from None
    if not isinstance(held, dict) or "source" not in held:
        raise SpecError(f"{file.name!r} needs the key `source`.", hint="Its other keys are the options of synth.")
    arguments = [str(held.pop("source"))]
    for key, value in held.items():
        option = f"--{str(key).replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is False or value is None:
            continue
        else:
            for one in value if isinstance(value, list) else [value]:
                arguments += [option, str(one)]
    return arguments
