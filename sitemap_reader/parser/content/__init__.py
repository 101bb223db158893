"""From bytes on the wire to UTF-8: gzip and deflate, charset detection, transcoding, and sniffing of the format.

In: bytes, cut anywhere. Out: UTF-8 chunks, and the format. Imports model/ only.
"""
