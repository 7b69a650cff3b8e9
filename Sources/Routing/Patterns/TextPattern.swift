/// A regular expression in RE2's syntax. Its cost is linear in the text, whatever the text.
package struct TextPattern: Sendable, Equatable {
    package let text: String

    package init(_ text: String) throws(PatternProblem) {
        self.text = text
    }
}
