"""The command `mercato-client`: finds, reads and downloads datasets on a terminal and in scripts.

Exit codes: 0 done, 1 failed (one line on stderr says why), 2 usage.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from mercato.cli.arguments import parser
from mercato.cli.output import complain
from mercato.errors import MercatoError

KEY_VARIABLE = "MERCATO_API_KEY"
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    options = parser().parse_args(arguments)
    warnings.showwarning = lambda message, *_args, **_kwargs: complain(f"warning: {message}")
    warnings.simplefilter("always")
    try:
        code: int = options.run(options, os.environ.get(KEY_VARIABLE))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has seen enough, as in `| head`. Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except (MercatoError, OSError, ValueError) as fault:
        complain(str(fault))
        return 1
