import Testing

@testable import SLS

@Suite struct NamePatternTests {
    @Test("Names that SLS takes", arguments: ["app", "my-project-1", "0a0"])
    func fine(name: String) {
        #expect(NamePattern.project.problem(with: name) == nil)
        #expect(NamePattern.logstore.problem(with: name) == nil)
    }

    @Test(
        "Names that SLS refuses",
        arguments: [
            "", "-", "-app", "app-", "App", "a/b", "a b", "a\n", "ärger", "..",
            String(repeating: "a", count: 64),
        ]
    )
    func refused(name: String) {
        #expect(NamePattern.project.problem(with: name) != nil)
        #expect(NamePattern.logstore.problem(with: name) != nil)
    }

    @Test("Logstores may be shorter and may have underscores")
    func logstore() {
        #expect(NamePattern.logstore.problem(with: "ab") == nil)
        #expect(NamePattern.project.problem(with: "ab") != nil)
        #expect(NamePattern.logstore.problem(with: "app_log") == nil)
        #expect(
            NamePattern.project.problem(with: "app_log")
                == "the project name 'app_log' is not valid: use 3 to 63 lower-case letters, "
                + "digits and '-', beginning and ending with a letter or digit"
        )
    }
}
