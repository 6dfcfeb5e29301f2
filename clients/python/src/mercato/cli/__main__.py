"""`python -m mercato.cli`."""

import sys

from mercato.cli import main

sys.exit(main())
