"""Prints libphonenumber's verdict on every example number in its metadata and on seeded variations, one JSON object per line."""

import json
import random
import sys

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumberFormat, PhoneNumberType

TYPES = {value: name for name, value in vars(PhoneNumberType).items() if name.isupper()}
DESCRIPTORS = [
    "general_desc", "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager",
    "uan", "voicemail",
]


def examples():
    """Every example number in E.164 form, with its source."""
    regions = [(region, PhoneMetadata.metadata_for_region(region, None)) for region in sorted(phonenumbers.SUPPORTED_REGIONS)]
    codes = sorted(phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS)
    regions += [(f"+{code}", PhoneMetadata.metadata_for_nongeo_region(code, None)) for code in codes]
    for region, metadata in regions:
        for name in DESCRIPTORS:
            descriptor = getattr(metadata, name)
            if descriptor is not None and descriptor.example_number:
                yield f"{region} {name}", f"+{metadata.country_code}{descriptor.example_number}"


def varied(number, draw):
    """The number with one digit changed, inserted or removed."""
    digits = number[1:]
    place = draw.randrange(1, len(digits))
    digit = str(draw.randrange(10))
    return "+" + draw.choice([
        digits[:place] + digit + digits[place + 1:],
        digits[:place] + digit + digits[place:],
        digits[:place] + digits[place + 1:],
        digits[:-1],
        digits + digit,
    ])


def verdict(source, text):
    """The verdict on a number, which must be valid and in its E.164 form."""
    said = {"source": source, "number": text, "valid": False, "type": "UNKNOWN", "region": None}
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        return said
    if not phonenumbers.is_valid_number(number):
        return said
    if phonenumbers.format_number(number, PhoneNumberFormat.E164) != text or len(text) > 16:
        return said
    said["valid"] = True
    said["type"] = TYPES[phonenumbers.number_type(number)]
    said["region"] = phonenumbers.region_code_for_number(number)
    return said


def main():
    draw = random.Random(int(sys.argv[1]))
    print(json.dumps({"version": phonenumbers.__version__}))
    for source, number in examples():
        print(json.dumps(verdict(source, number)))
        for _ in range(int(sys.argv[2])):
            print(json.dumps(verdict(f"{source}, varied", varied(number, draw))))


main()
