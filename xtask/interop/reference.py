"""The reference page in a browser: neither the page nor its navigation scrolls horizontally, on phones or desktops."""

import json
import os
import sys
import tempfile

from chromium import chromium

WIDTHS = (390, 833, 1280)
PROBE = """
const box = (element) => [element.scrollWidth, element.clientWidth];
return {page: box(document.documentElement), navigation: box(document.querySelector("nav"))};
"""


def main():
    with open(os.environ["VESTRY_DEV_JSON"]) as file:
        base_url = json.load(file)["base_url"]
    wide = []
    with tempfile.TemporaryDirectory() as profile:
        driver = chromium(profile)
        try:
            for width in WIDTHS:
                metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
                driver.get(f"{base_url}/docs")
                for name, (content, visible) in driver.execute_script(PROBE).items():
                    print(f"{width} px: {name} {content} of {visible} px")
                    if content > visible:
                        wide.append(f"{name} at {width} px")
        finally:
            driver.quit()
    if wide:
        sys.exit(f"scrolls sideways: {', '.join(wide)}")


main()
