"""Statistics of sites: the JSON objects of their lines in, facts (a group, a name, a count, a share) out.

Imports model/, parser/, serialize/, frontier/ and client/.
"""
