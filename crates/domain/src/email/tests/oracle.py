"""Pairs of addresses, half of them one edit apart, with the verdicts of idna and the Unicode database.

Usage: oracle.py SEED COUNT. Prints one JSON list per pair: the kind of edit, both addresses, why each is rejected ("" if it is not),
and whether the two are one identity. A reason begins with `local` or `domain`.
"""

import functools
import json
import random
import sys
import unicodedata

import idna

# Letters that are used together, so that labels with a single direction occur.
SCRIPTS = [
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "aàáâäãåæçèéêëìíîïñòóôöõøùúûüýÿßœšžőűłđðþħıŋĸ",
    "AÀÁÂÄÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÖÕØÙÚÛÜÝŸẞŒŠŽŐŰŁĐÐÞĦŊJHTWY",
    "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
    "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏΪΫ",
    "ἀἁἄἅἐἑἠἡἰἱὀὁὐὑὠὡᾀᾳᾴῃῥ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїє",
    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁІЇЄ",
    "աբգդեզէըթժԱԲԳԴԵԶԷԸԹԺ",
    "აბგდევზთᲐᲑᲒᲓᲔᲕ",
    "ᎠᎡᎢᎣᎤꭰꭱꭲꭳꭴ",
    "אבגדהוזחטיכלמנ",
    "ابتثجحخدذرزسشصض",
    "कखगघचछजटडनपबमयरलवक़ख़ड़ि",
    "กขคงจชซดตนบปผพม",
    "가각간갇갈감한국어나다라",
    "日本語中文字国人山川田中",
    "かきくけこがぎぐアイウエオガギグー",
    "𐐀𐐁𐐂𐐨𐐩𐐪",
]
MARKS = "\u0300\u0301\u0302\u0303\u0307\u0308\u030a\u030c\u0323\u0327\u0328\u0331\u0345"
# Characters that NFKC replaces, that NFC replaces, and that have two lower-case forms.
NAMED = (
    "\u212a\u2126\u1fef\u212b\u0130\u00df\u017f\ufb01\ufb03\uff4d\uff2d\uff11\u1d526\u1d2e\u00aa\u00ba\u00b2\u00b5"
    "\u2460\u2160\u2100\u03d0\u03f4\u1f71\u1fbb\u0374\u0387\uf900\uf9ff\U0002f800\uff76\u3131\ufdfa\u0149\u01c5\u1e9a\u0132"
    "\U0001d526\U0001d7d8"
)
ODD = "\u00ad\u200c\u200d\u00b7\u0375\u05f3\u30fb\u2260\u2603\U0001f511\u0660\u06f0\u0966-_!\u20ac\u2022\u2019"
INVISIBLE = "\u00ad\u200c\u200d"
CONFUSABLE = [
    "aаα", "eе", "oоο0о", "iıіι1l", "cс", "pрρ", "xхχ", "yуγ", "kκкĸ\u212a", "sѕ\u017f", "jј", "hһ", "wѡω", "nո", "uս",
    "bЬ", "ςσ", "ΩΩ\u2126", "ßβ", "ÅÅ\u212b", "µμ", "IΙІ\u0130", "KΚК\u212a", "ーｰ一",
]  # fmt: skip
EXPANDED = [("ß", "ss"), ("\ufb01", "fi"), ("æ", "ae"), ("œ", "oe"), ("ü", "ue"), ("ö", "oe"), ("i\u0307", "i")]
TOPS = ["com", "example", "de", "COM", "Example", "рф", "xn--p1ai", "中国", "ελ", "भारत", "1a"] * 4 + ["123", "0x1f", "٠١"]
EDITS = ["case", "case of all", "normal form", "label", "confusable", "character"]


def nfc(text):
    return unicodedata.normalize("NFC", text)


def simple_lower(text):
    """Lower-cases by simple mappings only: `str.lower` also handles final sigma, and maps U+0130 to two letters."""
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@functools.lru_cache(maxsize=None)
def local_part(text):
    """The compared form, and the reason for a rejection."""
    for c in text:
        if unicodedata.category(c) in ("Cn", "Co"):
            return "", "local unassigned"
        if c != nfc(c) and len(nfc(c)) == 1:
            return "", "local replaced by NFC"
    if unicodedata.normalize("NFKC", text) != nfc(text):
        return "", "local replaced by NFKC"
    if "\u0130" in nfc(text):
        return "", "local U+0130"
    return nfc(simple_lower(nfc(text))), ""


@functools.lru_cache(maxsize=None)
def domain(text):
    """The A-labels, and the reason for a rejection. The library supports only non-transitional processing."""
    try:
        return idna.encode(text, uts46=True, std3_rules=True, transitional=False).decode(), ""
    except idna.IDNAError as refused:
        return "", f"domain {refused.code}"


def judged(address):
    local, host = address.split("@")
    (compared, why), (name, why_not) = local_part(local), domain(host)
    return (compared, name), why or why_not


def word(draw, longest=6):
    letters = draw.choice(SCRIPTS)
    text = "".join(draw.choice(letters) for _ in range(draw.randint(1, longest)))
    if draw.random() < 0.15:
        text += draw.choice(MARKS)
    if draw.random() < 0.05:
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(NAMED + ODD) + text[at:]
    return text


def new_domain(draw):
    labels = [word(draw) for _ in range(draw.choice([1, 1, 1, 2]))]
    return ".".join([*labels, draw.choice(TOPS)])


def as_a_label(label):
    try:
        return idna.encode(label, uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        # As in a program without checks.
        return "xn--" + nfc(label.lower()).encode("punycode").decode()


def as_u_label(label):
    try:
        return label[4:].encode().decode("punycode")
    except UnicodeError:
        return label


def relabelled(draw, text):
    labels = text.split(".")
    which = draw.randrange(len(labels))
    label = labels[which]
    changed = as_u_label(label) if label.lower().startswith("xn--") else as_a_label(label)
    labels[which] = draw.choice([changed, changed, changed.upper()])
    return draw.choice([".", ".", ".", "\u3002", "\uff0e"]).join(labels)


def confused(draw, text):
    places = [(at, group) for at, c in enumerate(text) for group in CONFUSABLE if c in group]
    places += [(text.index(one), pair) for pair in EXPANDED for one in pair if one in text]
    if not places:
        at = draw.randrange(len(text))
        c = text[at]
        return text[:at] + (chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c) + text[at + 1 :]
    at, group = draw.choice(places)
    if isinstance(group, tuple):
        one, other = group if text.startswith(group[0], at) else group[::-1]
        return text[:at] + other + text[at + len(one) :]
    return text[:at] + draw.choice(group) + text[at + 1 :]


def edited(draw, kind, text):
    at = draw.randrange(len(text))
    c = text[at]
    if kind == "case":
        changed = draw.choice([simple_lower(c), c.upper(), c.swapcase(), c.title(), c.casefold()])
        return text[:at] + changed + text[at + 1 :]
    if kind == "case of all":
        return draw.choice([simple_lower, str.upper, str.casefold])(text)
    if kind == "normal form":
        return unicodedata.normalize(draw.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)
    if kind == "label":
        return relabelled(draw, text)
    if kind == "confusable":
        return confused(draw, text)
    put = draw.choice(NAMED + MARKS + ODD)
    return text[:at] + put + text[at + draw.randint(0, 1) :]


def is_about_identity(address):
    """One `@`, without dots, spaces or invisible characters before it, which separate rules reject."""
    local, _, host = address.partition("@")
    composed = unicodedata.normalize("NFKC", local)
    return local and host and "@" not in host and not set(INVISIBLE + ". ") & set(local + composed)


def pairs(draw, count):
    # Checking a domain is much slower than checking a local part, so domains come from a pool.
    domains = [new_domain(draw) for _ in range(3_000)]
    made = 0
    while made < count:
        local, host = word(draw), draw.choice(domains)
        kind = EDITS[made // 2 % len(EDITS)]
        if made % 2:
            kind, other = "none", [word(draw, 2), draw.choice([draw.choice(domains), host])]
        elif kind == "label" or draw.random() < 0.4:
            other = [local, edited(draw, kind, host)]
        else:
            other = [edited(draw, kind, local), host]
        left, right = f"{local}@{host}", "@".join(other)
        if is_about_identity(left) and is_about_identity(right):
            made += 1
            yield kind, left, right


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for kind, left, right in pairs(random.Random(seed), count):
        (one, why), (other, why_not) = judged(left), judged(right)
        print(json.dumps([kind, left, right, why, why_not, one == other]))


main()
