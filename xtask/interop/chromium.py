"""Chromium for the scripts."""

import os

from selenium import webdriver


def chromium(profile):
    """A headless browser with an empty profile and without background requests. It keeps the messages of its console."""
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ["VESTRY_CHROMIUM"]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    driver = webdriver.chrome.service.Service(executable_path=os.environ["VESTRY_CHROMEDRIVER"])
    return webdriver.Chrome(options=options, service=driver)
