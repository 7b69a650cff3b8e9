import Configuration
import TestSupport
import Testing

@testable import CLI

/// What is made of the commands' help: completions and manual pages.
@Suite struct CommandTextTests {
    private static let (bash, zsh, fish) = (Completion.bash, Completion.zsh, Completion.fish)

    @Test("Every command has a text and a summary, and is listed", arguments: Command.all)
    func listed(command: Command) {
        let page = Help.of(command)
        #expect(page.text.hasPrefix("Usage: sluice \(command.name)"))
        #expect(!page.summary.isEmpty)
        #expect(Help.overview.contains("\n  \(command.name) "))
    }

    @Test("Every option of a usage has a line with its meaning", arguments: Command.all)
    func explained(command: Command) {
        let options = command.options
        for option in options { #expect(!option.text.isEmpty, "\(option.name)") }
        for entry in command.help where entry.term.hasPrefix("sluice ") {
            let words = entry.term.split { " []|".contains($0) }.filter { $0.hasPrefix("--") }
            #expect(Set(words).isSubset(of: Set(options.map { $0.name[...] })), "\(entry.term)")
        }
    }

    @Test("Every command is in the completions, with each of its options", arguments: Command.all)
    func completions(command: Command) throws {
        let name = command.name
        let bash = try line(of: Self.bash, "    '\(name) -') ")
        let zsh = try line(of: Self.zsh, "    \(name)) ")
        #expect(Self.zsh.contains(" '\(name):"))
        #expect(Self.fish.contains("'__sluice_at \"\"' -a \(name) "))
        for option in command.options {
            #expect(bash.split { " '".contains($0) }.contains { $0 == option.name })
            #expect(zsh.contains("\(option.name)[") || zsh.contains("\(option.name)="))
            let name = option.name.dropFirst(2)
            #expect(Self.fish.contains("'__sluice_at \(command.name)' -l \(name) "))
        }
    }

    @Test("Every command is in the manual page, with each of its options", arguments: Command.all)
    func manual(command: Command) throws {
        let start = "\n.SS \"\(command.name) - "
        let text = read(ManualPage.sluice).components(after: start)
        let own = try #require(text?.split(separator: "\n.S").first)
        for option in command.options {
            #expect(own.contains("\n.TP\n\(option.term)\n"), "\(option.term)")
        }
    }

    @Test("Every setting is in the manual page, with the facts that its help has")
    func settings() {
        let page = read(ManualPage.settings)
        for table in SettingsReference.all {
            for (path, setting) in table.rows {
                let key = table.fullKey(path)
                let text = page.components(after: "\n.TP\n\(key)\n")?.prefix { $0 != "\n" }
                #expect(text?.contains("default \(setting.plainDefault)") ?? false, "\(key)")
            }
        }
    }

    @Test("The example of the manual page is a configuration")
    func example() throws {
        let directory = TemporaryDirectory()
        let key = directory.file("key", String(repeating: "k", count: 32))
        let text = ManualPage.example.replacing("/etc/sluice/device-key", with: key)
        let inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            environment: [
                "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAIexample",
                "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "example",
            ]
        )
        let problems = (try? GatewayConfiguration.read(inputs)) == nil ? "refused" : nil
        #expect(problems == nil)
    }

    @Test("Signs of roff mean themselves")
    func roff() {
        var page = ManualPage("a-b", section: 1, about: "c")
        page.paragraph(".x isn't `y-z`… \\ “q”")
        page.term("--tag NAME[:VALUE]…", "")
        #expect(page.text.contains("\n.SH NAME\na\\-b \\- c\n"))
        let quoted = "\\[u201C]q\\[u201D]"
        #expect(page.text.contains("\n\\&.x isn\\(aqt \\fBy\\-z\\fR\\[u2026] \\e \(quoted)\n"))
        #expect(page.text.hasSuffix("\n\\fB\\-\\-tag\\fR \\fINAME\\fR[:\\fIVALUE\\fR]\\[u2026]"))
    }

    @Test("Verbs, values, files and directories are known from the help")
    func candidates() throws {
        func place(_ command: String, _ number: Int) throws -> [String] {
            try Command.named(command).places[number]
        }
        let verbs = ["list", "show", "export", "edit", "replay", "purge"]
        #expect(try place("dead-letters", 0) == verbs)
        #expect(try place("capture", 0).contains("har"))
        #expect(try place("shards", 0) == ["add"])
        #expect(try place("shards", 1) == ["DIR"])
        #expect(try place("fsck", 0) == ["DIR", "FILE"])
        #expect(try place("restore", 0) == [])
        #expect(try place("restore", 1) == ["FILE", "DIR"])
        #expect(try place("destinations", 2) == [])
        #expect(try place("help", 0) == Command.all.map(\.name) + ["settings", "metrics"])
        #expect(try place("help", 1).contains("queue.jetstream"))
        let level = try Command.named("serve").options.first { $0.name == "--log-level" }
        #expect(level?.candidates == ["debug", "info", "warning", "error"])
        let order = try Command.named("queue").options.first { $0.name == "--order" }
        #expect(order?.candidates == ["oldest", "largest"])
    }

    /// The rest of the line that begins with `start`.
    private func line(of text: String, _ start: String) throws -> Substring {
        try #require(text.components(after: "\n\(start)")).prefix { $0 != "\n" }
    }

    /// The page as a reader sees its words.
    private func read(_ page: String) -> String {
        [
            "\\fB": "", "\\fI": "", "\\fR": "", "\\-": "-", "\\(aq": "'", "\\(ti": "~",
            "\\[u2026]": "…",
        ]
        .reduce(page) { $0.replacing($1.key, with: $1.value) }
    }
}

extension String {
    fileprivate func components(after start: String) -> Substring? {
        firstRange(of: start).map { self[$0.upperBound...] }
    }
}

extension Command: CustomTestStringConvertible {
    package var testDescription: String { name }
}
