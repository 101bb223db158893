from .diff import Changes as Changes
