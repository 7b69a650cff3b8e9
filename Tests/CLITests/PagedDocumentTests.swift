import Testing

@testable import CLI

@Suite struct PagedDocumentTests {
    func joined(_ pages: [String]) -> String {
        var document = PagedDocument(array: "dead_letters")
        var text = ""
        for (index, page) in pages.enumerated() {
            let part = document.part(of: Array(page.utf8), isLast: index == pages.count - 1)
            text += part.map { String(decoding: $0, as: UTF8.self) } ?? "no page"
        }
        return text
    }

    @Test("Pages become one document with the elements of all, and what the first page says")
    func several() {
        let pages = [
            #"{"sums":[{"letters":3}],"dead_letters":[{"id":1},{"id":2}],"next":2}"# + "\n",
            #"{"sums":[],"dead_letters":[{"id":3}],"next":3}"# + "\n",
            #"{"sums":[],"dead_letters":[],"next":null}"# + "\n",
        ]
        #expect(
            joined(pages)
                == #"{"sums":[{"letters":3}],"dead_letters":[{"id":1},{"id":2},{"id":3}],"#
                + #""next":null}"# + "\n"
        )
    }

    @Test("A single page stays as it is, also an empty one")
    func single() {
        for elements in ["", #"{"id":1}"#] {
            let page = #"{"sums":[],"dead_letters":[\#(elements)],"next":null}"# + "\n"
            #expect(joined([page]) == page)
        }
    }

    @Test("What looks like the marks inside of a text is text")
    func marks() {
        let log = #"{"id":1,"log":{"a":"\"dead_letters\":[","b":"],\"next\":"}}"#
        let pages = [
            #"{"sums":[],"dead_letters":[\#(log)],"next":1}"#,
            #"{"sums":[],"dead_letters":[\#(log)],"next":null}"#,
        ]
        #expect(
            joined(pages) == #"{"sums":[],"dead_letters":[\#(log),\#(log)],"next":null}"# + "\n"
        )
    }

    @Test("An element may have an array, and a member named as the page's")
    func nested() {
        let element = #"{"id":1,"dead_letters":["a"],"next":2}"#
        let page = #"{"dead_letters":[\#(element)],"next":null}"# + "\n"
        #expect(
            joined([page, page]) == #"{"dead_letters":[\#(element),\#(element)],"next":null}"#
                + "\n"
        )
    }

    @Test("What is no page is left to be printed as it is")
    func others() {
        #expect(joined([#"{"error":"x"}"#]) == "no page")
    }
}
