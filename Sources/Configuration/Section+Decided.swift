extension Section {
    /// Puts what an operator decided over what the file says.
    mutating func overlay(_ decided: DecidedSettings) {
        for entry in decided.entries {
            if entries[entry.key] == nil { names.append(entry.key) }
            entries[entry.key] = entries[entry.key]?.merged(with: entry) ?? entry
        }
    }

    /// What option or environment say, where nobody decided otherwise.
    func overridden(
        _ key: String,
        _ override: Override
    ) -> (place: ConfigurationProblem.Place, text: String)? {
        entries[key]?.value.isDecided == true ? nil : report.inputs.override(override)
    }
}
