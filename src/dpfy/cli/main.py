"""Entry point of the command `dpfy`: one place for threads, errors and exit codes."""

from __future__ import annotations

import os
import sys

# Linear algebra on small tables gets slower with threads, and libraries read these on import.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

EXIT_BUG, EXIT_INPUT, EXIT_BUDGET, EXIT_GATE = 1, 2, 3, 4


def run() -> None:
    """Runs the command and maps errors to exit codes."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from dpfy import __version__

        sys.stdout.write(f"dpfy {__version__}\n")
        return
    from dpfy.cli.app import app
    from dpfy.cli.console import fail
    from dpfy.errors import BudgetExceededError, DpfyError, ReleaseRefusedError, UnchargedReleaseError

    try:
        app()
    except BudgetExceededError as error:
        fail(error, EXIT_BUDGET)
    except ReleaseRefusedError as error:
        fail(error, EXIT_GATE)
    except UnchargedReleaseError as error:
        fail(error, EXIT_BUG)
    except DpfyError as error:
        fail(error, EXIT_INPUT)
    except (MemoryError, KeyboardInterrupt) as error:
        fail(error, EXIT_INPUT)
    except OSError as error:
        fail(error, EXIT_INPUT)
    except Exception as error:
        # A traceback shows values of local variables' text in some libraries' messages: name the place alone.
        fail(error, EXIT_BUG)
