import Configuration

extension ManualPage {
    /// sluice(1), from the help of all commands.
    static var sluice: String {
        var page = ManualPage("sluice", section: 1, about: Help.title)
        page.section("SYNOPSIS")
        page.term("sluice COMMAND [OPTIONS]", "")
        page.section("DESCRIPTION")
        page.paragraph("Sluice \(Help.purpose.replacing("\n", with: " "))")
        page.paragraph(Help.trial)
        page.section("COMMANDS")
        for command in Command.all {
            page.subsection("\(command.name) - \(Help.of(command).summary)")
            for entry in command.help {
                let variable = entry.variable.map { " (or the variable \($0))" } ?? ""
                if entry.term.isEmpty {
                    page.paragraph(entry.text)
                } else {
                    page.term(entry.term, entry.text + variable)
                }
            }
        }
        page.section("ENVIRONMENT")
        for (name, meaning) in variables { page.term(name, meaning) }
        page.paragraph(
            "Credentials may come from the variables of Alibaba Cloud's SDKs: see sluice.yaml(5)."
        )
        page.section("FILES")
        page.term("/etc/sluice/sluice.yaml", "the configuration of the service: see sluice.yaml(5)")
        let directory = GatewayConfiguration.usualDataDirectory
        page.term("\(directory)/queue.db", "the queue, with files of SQLite beside it")
        page.term("\(directory)/admin-token", "the token that the gateway makes for operators")
        page.section("EXIT STATUS")
        page.paragraph("Commands with other meanings say so above.")
        page.term("0", "fine")
        page.term("1", "failed: no gateway answers, or it refuses")
        page.term("2", "wrong usage or configuration")
        page.section("SEE ALSO")
        page.paragraph("`sluice.yaml`(5)")
        return page.text
    }

    /// Each variable once: those of settings, then those that only options have.
    private static var variables: [(name: String, meaning: String)] {
        let settings = SettingsReference.all.flatMap { table in
            table.rows.flatMap { path, setting in
                setting.sources.filter { $0.hasPrefix("SLUICE_") }.map {
                    (name: $0, meaning: "`\(table.fullKey(path))`: \(setting.plainHelp)")
                }
            }
        }
        let options = Command.all.flatMap(\.help).compactMap { entry in
            entry.variable.map { (name: $0, meaning: entry.text) }
        }
        var known: Set<String> = []
        return (settings + options).filter { known.insert($0.name).inserted }
    }

    // MARK: - The configuration file

    static let example = """
        listen: :8080
        devices:
          keys:
            - { name: app, key: "${file:/etc/sluice/device-key}" }
        destinations:
          app:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: my-project
            logstore: app-log
        credentials:
          default: { from: environment }
        """

    /// sluice.yaml(5), from the tables of settings.
    static var settings: String {
        var page = ManualPage("sluice.yaml", section: 5, about: "configuration of sluice")
        page.section("DESCRIPTION")
        page.paragraph(
            "The YAML file that --config or SLUICE_CONFIG names. An option overrides its environment "
                + "variable, which overrides the file. In values, ${NAME}, ${NAME:-default} and "
                + "${file:/path} are replaced. `sluice check` lists all errors of a file."
        )
        page.section("EXAMPLE")
        page.example(example)
        page.section("SETTINGS")
        page.paragraph("The parts have the names that `sluice help settings` knows.")
        for table in SettingsReference.all {
            page.subsection(table.name)
            for (path, setting) in table.rows {
                let facts = SettingsHelp.facts(setting).map { "\($0) \($1)" }
                page.term(
                    table.fullKey(path),
                    "\(setting.plainHelp) (\(facts.joined(separator: "; ")))"
                )
            }
        }
        page.section("SEE ALSO")
        page.paragraph("`sluice`(1)")
        return page.text
    }
}
