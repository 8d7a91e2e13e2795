"""Which of the named models does `slipwayctl models list -o json` (on standard input) not have? Prints their names."""

import json
import sys

have = {model["name"] for model in json.load(sys.stdin) if model.get("path")}
print(*(name for name in sys.argv[1:] if name not in have))
