import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

@Suite struct SubstitutionTests {
    private let substitution = Substitution(environment: [
        "NAME": "app", "EMPTY": "", "LOOP": "${NAME}",
    ])

    @Test(
        "The environment stands in for references",
        arguments: [
            ("plain", "plain"), ("${NAME}", "app"), ("a-${NAME}-b", "a-app-b"),
            ("${NONE:-other}", "other"), ("${EMPTY:-other}", "other"), ("${EMPTY}", ""),
            ("$${NAME}", "${NAME}"), ("$5 and $", "$5 and $"), ("${LOOP}", "${NAME}"),
            ("${NONE:-}", ""),
        ]
    )
    func environment(text: String, expected: String) throws {
        #expect(try substitution.apply(to: text) == expected)
    }

    @Test(
        "A reference to nothing says what to do",
        arguments: [
            (
                "${NONE}",
                "the environment has no NONE; set it, or give a default as in ${NONE:-value}"
            ),
            ("${NAME", "${ is never closed; write $${ for the two characters themselves"),
            (
                "${a-b}",
                "what ${...} holds is not understood; write ${NAME}, ${NAME:-default} or ${file:/path}"
            ),
            ("${file:/none/x}", "${file:/none/x} cannot be read: No such file or directory"),
            ("${file:/}", "${file:/} cannot be read: Is a directory"),
        ]
    )
    func problems(text: String, reason: String) {
        #expect(throws: Mismatch(reason)) { try substitution.apply(to: text) }
    }

    @Test("A file gives its content without the newline that ends it")
    func file() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("secret", "s3cret\n")
        #expect(try substitution.apply(to: "${file:\(path)}") == "s3cret")
    }
}
