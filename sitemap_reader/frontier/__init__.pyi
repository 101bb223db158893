from .lastmod_trust import History as History
from .lastmod_trust import LastmodTrust as LastmodTrust
from .lastmod_trust import judge_history as judge_history
