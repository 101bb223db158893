"""The command line: arguments in; output files, messages on stderr and an exit code out.

main.py declares the commands; each has a module of its own with run(). Imports all folders but analysis/.
"""
