"""What our HTML pages are made of."""

import base64
import hashlib
import html.parser
import json


class PageReader(html.parser.HTMLParser):
    """Elements of a page, and the texts of its script and style elements."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = []  # [element, its attributes, text]
        self.is_inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.is_inside = tag in ("script", "style")
        if self.is_inside:
            self.texts.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        self.is_inside = False

    def handle_data(self, data):
        if self.is_inside:
            self.texts[-1][2] += data  # it comes in pieces

    def text_of(self, tag, **attributes):
        (text,) = [text for name, own, text in self.texts if (name, own) == (tag, attributes)]
        return text

    def data(self):
        return json.loads(self.text_of("script", type="application/json", id="data"))


def check_policy(reader):
    """The page lets only its own script and style sheet take effect, and names no other file."""
    (policy,) = [own["content"] for tag, own in reader.elements
                 if own.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        text = reader.text_of(tag).encode()
        allowed = base64.b64encode(hashlib.sha256(text).digest()).decode()
        assert f"{tag}-src 'sha256-{allowed}'" in policy
    assert not [own for _, own in reader.elements if "src" in own or "href" in own]
