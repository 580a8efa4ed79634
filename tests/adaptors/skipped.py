# SPDX-License-Identifier: MIT
"""What CTest runs in the place of a test that can't be built here: says why, and returns 77.

usage: skipped.py REASON
"""

import sys

print(f"SKIPPED: {sys.argv[1]}")
sys.exit(77)
