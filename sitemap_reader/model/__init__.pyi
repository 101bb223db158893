from .problems import CATALOGUE as CATALOGUE
