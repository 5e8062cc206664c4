"""
What looks like a secret, by a file's name or in its text.

Knows nothing of where files lie. It says what kind of secret stands on which line and never the
secret itself. It is meant to raise few false alarms: the whole file is left out for one.
"""

import math
import re
from collections import Counter

from vicinal.corpus.name_patterns import named_like

SECRET_NAMES = named_like(
    ".env .env.* *.env id_rsa id_dsa id_ecdsa id_ed25519 *.pem *.key *.p12 *.pfx *.jks *.keystore "
    "*.kdbx *.ppk *.pkcs12 .netrc _netrc .pgpass .pypirc .npmrc .htpasswd .git-credentials "
    ".dockercfg credentials credentials.csv credentials.ini credentials.json credentials.toml "
    "credentials.xml credentials.yaml credentials.yml secret.* secrets.* *.tfvars *.tfstate "
    "*.tfstate.backup service-account*.json service_account*.json"
)
# Code about secrets has such names too; its contents are looked at like any other's.
CODE_ABOUT_SECRETS = named_like(
    "*.c *.cc *.cpp *.cs *.ex *.go *.h *.hpp *.hs *.java *.js *.jsx *.kt *.md *.mjs *.ml *.php "
    "*.py *.pyi *.rb *.rs *.rst *.scala *.swift *.ts *.tsx *.example *.sample *.template"
)
# Each group named after what it is; the body is checked for being more than a placeholder.
TOKENS = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?P<AWS_key>(?:AKIA|ASIA)[A-Z2-7]{16})"
    r"|(?P<GitHub_token>gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})"
    r"|(?P<GitLab_token>glpat-[A-Za-z0-9_-]{20,})"
    r"|(?P<Slack_token>xox[abeprs]-[A-Za-z0-9-]{20,})"
    r"|(?P<Google_key>AIza[A-Za-z0-9_-]{35})"
    r"|(?P<Stripe_key>[rs]k_live_[A-Za-z0-9]{20,})"
    r"|(?P<OpenAI_or_Anthropic_key>sk-[A-Za-z0-9_-]{32,})"
    r"|(?P<Hugging_Face_token>hf_[A-Za-z0-9]{34,})"
    r"|(?P<npm_token>npm_[A-Za-z0-9]{36})"
    r"|(?P<PyPI_token>pypi-AgEI[A-Za-z0-9_-]{40,})"
    r"|(?P<SendGrid_key>SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"
    r"|(?P<JSON_web_token>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})"
    r")(?![A-Za-z0-9_-])"
)
TOKEN_PREFIXES = (
    *("AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"),
    *("AIza", "k_live_", "sk-", "hf_", "npm_", "pypi-", "SG.", "eyJ"),
)
PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----[^\0]{0,300}?[A-Za-z0-9+/=]{40}"
)
# ``=`` or ``:``, then a value in quotes or up to the line end; it is looked for first, and then the
# name before it, because few lines have such a value and very many have such a name.
VALUE = re.compile(
    r"[=:>][ \t]*(?:(?P<quote>[\"'])(?P<quoted>[A-Za-z0-9+/_-][A-Za-z0-9+/=_-]{15,199})(?P=quote)"
    r"|(?P<bare>[A-Za-z0-9+/_-][A-Za-z0-9+/=_-]{15,199})[ \t]*\r?$)",
    re.MULTILINE,
)
NAME_BEFORE = re.compile(
    r"(?:password|passwd|pwd|secret|token|credentials?|(?:api|auth|access|secret|private|account)"
    r"[_-]?key)[\"']?[ \t]*(?::|=)?$",
    re.IGNORECASE,
)
MIN_ENTROPY = 3.2  # bits per character; random hexadecimal digits have 3.5 and more


def secret_in_name(name: str) -> str:
    """Say that a file's name is one that keys and passwords are kept under."""
    low = name.lower()
    is_secret = SECRET_NAMES.match(low) and not CODE_ABOUT_SECRETS.match(low)
    return "looks like a secret, by its name" if is_secret else ""


def secret_in_text(text: str) -> str:
    """Say what kind of secret a text holds, and on which line; never the secret."""
    for kind, at in secrets_of(text):
        return f"looks like a secret: {kind} on line {text.count(chr(10), 0, at) + 1}"
    return ""


def secrets_of(text: str) -> list[tuple[str, int]]:
    """List the secrets that a text seems to hold: what they are and where they start."""
    keys = [("private key", m.start()) for m in PRIVATE_KEY.finditer(text)]
    may_have_tokens = any(prefix in text for prefix in TOKEN_PREFIXES)
    tokens = [
        (str(m.lastgroup).replace("_", " "), m.start())
        for m in (TOKENS.finditer(text) if may_have_tokens else ())
        if "EXAMPLE" not in m[0] and entropy(m[0]) > MIN_ENTROPY
    ]
    values = [
        ("value of a password, key or token", m.start())
        for m in VALUE.finditer(text)
        if is_random(m["quoted"] or m["bare"])
        and NAME_BEFORE.search(text[max(0, m.start() - 40) : m.start()])
    ]
    return [*keys, *tokens, *values]


def is_random(value: str) -> bool:
    """Tell a random value from words, identifiers, counters and placeholders."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    words = all(part.isalpha() or part.isdigit() for part in re.findall(r"[A-Za-z0-9]+", value))
    is_plain = words or "example" in value.lower() or min(letters, digits) < 3
    return not is_plain and entropy(value) > MIN_ENTROPY


def entropy(value: str) -> float:
    """Compute the entropy of a value's characters, ``-Σ p log2 p``, in bits per character."""
    shares = [n / len(value) for n in Counter(value).values()]
    return -sum(p * math.log2(p) for p in shares)
