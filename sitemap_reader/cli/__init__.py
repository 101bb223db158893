"""The command line: arguments in; output files, messages on stderr and an exit code out.

main.py declares the commands; each has a module of its own with run(). Imports all folders but analysis/.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
