"""Names full of signs that mean something to a shell, a CLI, XML, a URL or a path."""

# A message VPN may be called so (1 to 32 characters, none of a few), and so may its neighbour.
LEGAL = [
    *("a b", "a  b", "a#b", "#a", "a/b", "/", "..", ".", "a%2Fb", "a%b", "%s%n", "a,b", "a=b", "a+b", "a:b", "a@b"),
    *(
        "$(id)",
        "${HOME}",
        "$IFS",
        "~",
        "!",
        "a!b",
        "[a]",
        "{0}",
        "(a)",
        "a^b",
        "--",
        "-rf",
        "-",
        "//",
        "a/../b",
        "%00",
    ),
    *(
        "no",
        "end",
        "exit",
        "detail",
        "replication",
        "message-vpn",
        "x state active",
        "{service}",
        "Zürich",
        "日本",
        "é",
    ),
]
ILLEGAL = [
    *("a;b", "a|b", "a&b", "`id`", 'a"b', "a'b", "a\nb", "a\rb", "a\x00b", "a\\b", "a<b", "a>b", "a*", "*", "a?"),
    *(" a", "a ", "a\tb", "", "x" * 33, "a\u2028b", "a\u202eb", "a\x1b[0m", "\ud800", "a\nreplication state active"),
    *("a\x85b", "a\u00a0b", "</name>", "&amp;", "\u200b", "a\r\n\r\nGET /"),
]
