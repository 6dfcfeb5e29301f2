"""CSV files as people write them, with the values that are meant. Each shape is read right, or refused or warned of with
the option that helps; with the option it is read right. `text_inputs.py` checks that, beside DuckDB's sniffer."""

import dataclasses
import io

EU = ["--delimiter", ";"]
DECIMAL = [*EU, "--decimal", ","]
BOTH = [*DECIMAL, "--thousands", "."]


@dataclasses.dataclass
class Shape:
    """`options` read it right; without them the tool must be right, or say `says` (in a refusal or a warning)."""
    name: str
    content: bytes
    columns: list
    rows: list
    options: list = dataclasses.field(default_factory=list)
    says: str = ""
    ending: str = "csv"
    can_be_read: bool = True


def shape(name, content, columns, rows, options=(), says="", ending="csv", encoding="utf-8"):
    content = content if isinstance(content, bytes) else content.encode(encoding)
    return Shape(name, content, columns.split(), rows, list(options), says, ending)


def refused(name, content, says, ending="csv"):
    content = content if isinstance(content, bytes) else content.encode()
    return Shape(name, content, [], [], [], says, ending, can_be_read=False)


def many(value, count=1_000):
    """A column of numbers with one other value in the middle, and the values that are meant."""
    values = [str(number) for number in range(count)]
    values[count // 2] = value
    return "x\n" + "".join(f"{text}\n" for text in values), values


def numbers(name, value, meant, options=(), says=""):
    content, values = many(value)
    rows = [[meant if text is values[500] else float(text) if options else int(text)] for text in values]
    return shape(name, content, "x", rows, options, says)


def separators():
    rows = [[1, "x"], [2, "y"]]
    yield shape("comma", "a,b\n1,x\n2,y\n", "a b", rows)
    yield shape("semicolon", "a;b\n1;x\n2;y\n", "a b", rows, EU, "--delimiter ';'")
    yield shape("tab in .csv", "a\tb\n1\tx\n2\ty\n", "a b", rows, ["--delimiter", "tab"], "--delimiter tab")
    yield shape("tab in .tsv", "a\tb\n1\tx\n2\ty\n", "a b", rows, ending="tsv")
    yield shape("pipe", "a|b\n1|x\n2|y\n", "a b", rows, ["--delimiter", "|"], "--delimiter '|'")
    yield shape("sep= line", "sep=;\r\na;b\r\n1;x\r\n2;y\r\n", "a b", rows)
    yield shape("sep= line, quoted, with a mark", "\ufeff\"sep=;\"\r\na;b\r\n1;x\r\n2;y\r\n", "a b", rows)
    yield shape("sep= line with a tab", "sep=\t\na\tb\n1\tx\n2\ty\n", "a b", rows)
    yield shape("semicolon in texts of a comma file", "a,b\n1,x;y\n2,z\n", "a b", [[1, "x;y"], [2, "z"]])
    yield shape("comma in texts of a semicolon file", "a;b\n1;Via Po, 3\n2;Via Po, 4\n", "a b", [[1, "Via Po, 3"], [2, "Via Po, 4"]], EU, "--delimiter ';'")
    yield shape("one column", "name\nRoma\nPisa\n", "name", [["Roma"], ["Pisa"]])
    yield shape("one column with semicolons in one text", "note\na; b\nc\n", "note", [["a; b"], ["c"]])
    yield shape("header alone", "a,b\n", "a b", [])


def lines():
    rows = [[1, "x"], [2, "y"]]
    yield shape("CRLF", "a,b\r\n1,x\r\n2,y\r\n", "a b", rows)
    yield shape("CRLF and LF mixed", "a,b\r\n1,x\n2,y\r\n", "a b", rows)
    yield refused("CR alone", "a,b\r1,x\r2,y\r", "tr '\\r' '\\n'")
    yield shape("no end of the last line", "a,b\n1,x\n2,y", "a b", rows)
    yield shape("byte order mark", "\ufeffa,b\n1,x\n2,y\n", "a b", rows)
    yield shape("blank lines", "\n\na,b\n\n1,x\n\n2,y\n\n\n", "a b", rows)
    yield shape("trailing separators", "a,b,\n1,x,\n2,y,\n", "a b column3", [[1, "x", None], [2, "y", None]])
    yield refused("trailing separators below the header alone", "a,b\n1,x,\n2,y,\n", "--skip-lines 1 --no-header")
    yield shape("rows of separators alone", "a,b\n1,x\n,\n2,y\n", "a b", [[1, "x"], [None, None], [2, "y"]])
    yield refused("line with a field too many", "a,b\n1,x\n2,y,z\n3,w\n", "line 3")
    yield refused("line with a field too few", "a,b,c\n1,x,1\n2,y\n3,z,2\n4,z,2\n", "line 3")
    yield refused("total below the table", "a;b;c\n1;x;2\n2;y;3\n3;z;4\nFonte: ISTAT\n", "--delimiter ';'")


def quotes():
    yield shape("quoted separators", 'a,b\n1,"x,y"\n2,"z"\n', "a b", [[1, "x,y"], [2, "z"]])
    yield shape("doubled quotes", 'a,b\n1,"x ""y"" z"\n', "a b", [[1, 'x "y" z']])
    yield shape("line break in quotes", 'a,b\n1,"x\ny"\n2,z\n', "a b", [[1, "x\ny"], [2, "z"]])
    yield shape("everything quoted", '"a","b"\n"1","x"\n"2","y"\n', "a b", [[1, "x"], [2, "y"]])
    yield shape("quote inside a field", 'a,b\n1,5" pipe\n2,y\n', "a b", [[1, '5" pipe'], [2, "y"]])
    yield shape("empty string and null", 'a,b\n1,""\n2,\n', "a b", [[1, ""], [2, None]])
    yield refused("backslash before quotes", 'a,b\n1,"x \\"y\\" z"\n', "double the quotes")
    yield refused("quote that never closes", 'a,b\n1,"x\n2,y\n', "closing quote")
    yield refused("blanks before quotes", 'a, b\n1, "x"\n2, "y"\n', "remove the blanks")
    yield refused("single quotes", "'a','b'\n'1','x'\n'2','y'\n", "double quotes")
    yield shape("blanks around values", "a, b , c\n1, 2 ,true \n 3,4, false\n", "a b c", [[1, 2, True], [3, 4, False]])


def decimals():
    yield shape("decimal commas", "a;b\n1,5;x\n2,25;y\n", "a b", [["1.5", "x"], ["2.25", "y"]], DECIMAL, "--delimiter ';'")
    yield shape("decimal commas, delimiter told", "sep=;\na;b\n1,5;x\n2,25;y\n", "a b", [["1.5", "x"], ["2.25", "y"]], DECIMAL, "--decimal ,")
    yield shape("decimal commas among integers", "sep=;\na\n1\n2\n3,5\n", "a", [["1"], ["2"], ["3.5"]], DECIMAL, "--decimal ,")
    yield shape("decimal commas in quotes", 'a,b\n"1,5",x\n"2,5",y\n', "a b", [["1.5", "x"], ["2.5", "y"]], ["--decimal", ","], "--decimal ,")
    yield shape("thousands and decimals", "sep=;\na\n1.234,50\n-0,05\n", "a", [["1234.50"], ["-0.05"]], BOTH, "--decimal , --thousands .")
    yield shape("thousands that look like fractions", "sep=;\na\n1.234\n950\n", "a", [[1234], [950]], BOTH, "--thousands .")
    yield shape("two groups of thousands", "sep=;\na\n1.234\n1.234.567\n", "a", [[1234], [1234567]], BOTH, "--thousands .")
    yield shape("English thousands", 'a\n"1,234.50"\n"2,345,678.00"\n', "a", [["1234.50"], ["2345678.00"]], ["--thousands", ","], "--thousands ,")
    yield shape("Swiss thousands", "a\n1'234.50\n2'345.00\n", "a", [["1234.50"], ["2345.00"]], ["--thousands", "'"], "--thousands")
    yield shape("French thousands", "sep=;\na\n1 234,50\n12,00\n", "a", [["1234.50"], ["12.00"]], [*DECIMAL, "--thousands", " "], "--decimal , --thousands ' '")
    yield shape("fractions of one length", "a\n1.50\n20.25\n", "a", [["1.50"], ["20.25"]])
    yield shape("no digit before the point", "a\n.5\n-.25\n", "a", [["0.5"], ["-0.25"]])


def odd_numbers():
    yield numbers("one plus among numbers", "+5", 5)
    yield shape("one plus among fractions", "a\n1.5\n+5.5\n", "a", [["1.5"], ["5.5"]])
    yield shape("one exponent among numbers", "a\n1\n1e5\n", "a", [["1"], ["100000"]])
    yield numbers("one code among numbers", "007", 7.0, ["--type", "x=number"], "--type x=number")
    yield shape("one number too large", "x\n1\n2\n1e999\n", "x", [["1"], ["2"], ["1e999"]], ["--type", "x=string"], "--type x=number")
    yield shape("codes with leading zeros", "cap\n00184\n00100\n20121\n", "cap", [["00184"], ["00100"], ["20121"]])
    yield shape("few codes with leading zeros", "cap\n20121\n10121\n00184\n", "cap", [["20121"], ["10121"], ["00184"]], ["--type", "cap=string"], "--type cap=string")
    yield shape("telephone numbers", "tel\n+390612345678\n+390557654321\n", "tel", [["+390612345678"], ["+390557654321"]])
    yield shape("integers of 20 digits", "a\n12345678901234567890\n1\n", "a", [[12345678901234567890], [1]])
    yield shape("integers of 38 digits", "a\n12345678901234567890123456789012345678\n1\n", "a", [[12345678901234567890123456789012345678], [1]])
    yield shape("long integers beside an exponent", "a\n12345678901234567\n1e5\n", "a", [["12345678901234567"], ["1e5"]], ["--type", "a=string"], "--type a=string")
    yield shape("NaN and infinity", "a\n1.5\nNaN\nInfinity\n", "a", [["1.5"], [None], [None]])


def dates():
    iso = [["2024-12-31"], ["2024-02-01"]]
    italian = ["--date-format", "%d/%m/%Y"]
    yield shape("ISO dates", "a\n2024-12-31\n2024-02-01\n", "a", iso)
    yield shape("Italian dates", "a\n31/12/2024\n01/02/2024\n", "a", iso, italian, "--date-format %d/%m/%Y")
    yield shape("American dates", "a\n12/31/2024\n02/01/2024\n", "a", iso, ["--date-format", "%m/%d/%Y"], "--date-format %m/%d/%Y")
    yield shape("dates of either order", "a\n01/02/2024\n03/02/2024\n", "a", [["2024-02-01"], ["2024-02-03"]], italian, "%m/%d/%Y")
    yield shape("German dates", "a\n31.12.2024\n1.2.2024\n", "a", iso, ["--date-format", "%d.%m.%Y"], "--date-format %d.%m.%Y")
    yield shape("years of two digits", "a\n31/12/24\n01/02/24\n", "a", iso, ["--date-format", "%d/%m/%y"], "--date-format %d/%m/%y")
    yield shape("names of months", "a\n31 dic 2024\n1 feb 2024\n", "a", iso, ["--date-format", "%d %b %Y"], "--date-format '%d %b %Y'")
    yield shape("Italian datetimes", "a\n31/12/2024 10:30\n01/02/2024 00:00\n", "a", [["2024-12-31T10:30:00Z"], ["2024-02-01T00:00:00Z"]],
                ["--date-format", "%d/%m/%Y %H:%M"], "--date-format '%d/%m/%Y %H:%M'")
    yield shape("ISO datetimes with zones", "a\n2024-12-31T10:30:00+01:00\n2024-02-01 00:00:00Z\n", "a", [["2024-12-31T09:30:00Z"], ["2024-02-01T00:00:00Z"]])
    yield shape("a day that does not exist", "a\n2024-12-31\n2024-01-01\n2023-02-29\n", "a", [["2024-12-31"], ["2024-01-01"], ["2023-02-29"]],
                ["--type", "a=string"], "line 4")
    yield shape("times of day", "a\n10:30\n23:59\n", "a", [["10:30"], ["23:59"]])


def encodings():
    rows = [["Forlì", "1"], ["Pisa €", "2"]]
    text = "nome,n\nForlì,1\nPisa €,2\n"
    yield shape("UTF-8", text, "nome n", rows)
    yield shape("windows-1252", text, "nome n", rows, ["--encoding", "windows-1252"], "--encoding windows-1252", encoding="cp1252")
    yield shape("latin1", text.replace("€", "è"), "nome n", [["Forlì", "1"], ["Pisa è", "2"]], ["--encoding", "latin1"], "--encoding", encoding="latin1")
    yield shape("UTF-16 with a mark", text, "nome n", rows, encoding="utf-16")
    yield shape("UTF-16 without a mark", text, "nome n", rows, ["--encoding", "utf-16"], "--encoding utf-16", encoding="utf-16-le")


def preambles():
    rows = [[1, "x"], [2, "y"], [3, "z"]]
    body = "a,b\n1,x\n2,y\n3,z\n"
    yield shape("title above the header", "Vendite\n" + body, "a b", rows, ["--skip-lines", "1"], "--skip-lines 1")
    yield shape("title and a blank line", "Vendite\n\n" + body, "a b", rows, ["--skip-lines", "2"], "--skip-lines 2")
    yield shape("title with separators", "Vendite,\n" + body, "a b", rows, ["--skip-lines", "1"], "--skip-lines 1")
    yield shape("comments above the header", "# fonte: ISTAT\n# 2024\n" + body, "a b", rows, ["--skip-lines", "2"], "--skip-lines 2")
    yield shape("title above semicolons", "Vendite\n" + body.replace(",", ";"), "a b", rows, [*EU, "--skip-lines", "1"], "--delimiter ';' --skip-lines 1")
    yield shape("no header", "1,x,2024-01-01\n2,y,2024-01-02\n", "column1 column2 column3", [[1, "x", "2024-01-01"], [2, "y", "2024-01-02"]], ["--no-header"], "--no-header")
    yield shape("no header, one column", "1\n2\n3\n", "column1", [[1], [2], [3]], ["--no-header"], "--no-header")
    yield shape("years as names", "comune,2020,2021\nRoma,123,456\nPisa,78,90\n", "comune 2020 2021", [["Roma", 123, 456], ["Pisa", 78, 90]])
    yield shape("numbers as names", "ora,1,2\nx,5,6\n", "ora 1 2", [["x", 5, 6]], ["--no-header=false"], "--no-header=false")
    yield shape("column without a name", ",a\n0,x\n1,y\n", "column1 a", [[0, "x"], [1, "y"]])
    yield refused("names that repeat", "a,a\n1,2\n", "--skip-lines 1 --no-header")
    yield refused("empty file", "", "header")


def nulls():
    for word in ["n/a", "NA", "NULL", "-", "N.D.", "#N/D", "\\N"]:
        yield shape(f"null as {word}", f"a\n1\n2\n{word}\n", "a", [[1], [2], [None]], ["--null-text", word], "--null-text")
    yield shape("null words in most rows", "a\nn/a\nn/a\nn/a\n1\n", "a", [[None], [None], [None], [1]], ["--null-text", "n/a"], "--null-text n/a")
    yield shape("two words for null", "a\n1\n2\n3\n-\nn.d.\n", "a", [[1], [2], [3], [None], [None]], ["--null-text", "-", "--null-text", "n.d."], "--null-text")
    yield shape("booleans", "a\ntrue\nFALSE\n\n", "a", [[True], [False], [None]])
    yield shape("booleans and a word", "a\ntrue\nfalse\nforse\n", "a", [["true"], ["false"], ["forse"]], ["--type", "a=string"], "line 4")


def workbook(fill):
    """A workbook that `fill` writes with openpyxl."""
    import openpyxl
    book = openpyxl.Workbook()
    fill(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def workbooks():
    import datetime

    def plain(book):
        for row in [["id", "giorno", "quando", "importo", "cap", "ok"],
                    [1, datetime.date(2024, 12, 31), datetime.datetime(2024, 12, 31, 10, 30), 1.5, "00184", True],
                    [2, None, None, 2.25, "20121", False]]:
            book.active.append(row)

    def merged(book):
        for row in [["area", "n"], ["Nord", 1], [None, 2], ["Sud", 3]]:
            book.active.append(row)
        book.active.merge_cells("A2:A3")
        book.active.row_dimensions[3].hidden = True

    def titled(book):
        for row in [["Bilancio 2024"], [], ["voce", "euro"], ["Entrate", 5], ["Uscite", 7]]:
            book.active.append(row)
        book.active.merge_cells("A1:B1")

    def hidden(book):
        book.active.append(["x"])
        book.active.sheet_state = "hidden"
        second = book.create_sheet("Dati")
        second.append(["a"])
        second.append([1])

    rows = [[1, "2024-12-31", "2024-12-31T10:30:00Z", "1.5", "00184", True], [2, None, None, "2.25", "20121", False]]
    yield shape("Excel", workbook(plain), "id giorno quando importo cap ok", rows, ending="xlsx")
    yield shape("Excel, merged cells and a hidden row", workbook(merged), "area n", [["Nord", 1], [None, 2], ["Sud", 3]], ending="xlsx")
    yield shape("Excel with a title", workbook(titled), "voce euro", [["Entrate", 5], ["Uscite", 7]], ["--skip-lines", "2"], "--skip-lines 2", ending="xlsx")
    yield shape("Excel with a hidden sheet", workbook(hidden), "a", [[1]], ending="xlsx")


def others():
    import zipfile
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("dati/a.csv", "a,b\n1,x\n2,y\n")
    yield shape("ZIP with one file", out.getvalue(), "a b", [[1, "x"], [2, "y"]], ending="zip")
    yield shape("JSON array", '[{"a": 1, "b": "x"}, {"a": 2}]', "a b", [[1, "x"], [2, None]], ending="json")


def all_shapes():
    for group in [separators, lines, quotes, decimals, odd_numbers, dates, encodings, preambles, nulls, workbooks, others]:
        yield from group()
