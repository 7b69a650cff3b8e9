import Configuration

extension HelpEntry {
    /// What the option's value may be.
    var candidates: [String] {
        SettingsReference.choices[name] ?? Command.candidates(for: value)
    }
}

extension Command {
    /// What may stand for a placeholder such as "DIR|FILE" or "bash|zsh|fish", as far as it is
    /// known without a gateway. `FILE` and `DIR` stay as they are.
    static func candidates(for placeholder: Substring) -> [String] {
        placeholder.split(separator: "|").flatMap { part in
            switch part {
            case "COMMAND": all.map(\.name)
            case "GROUP": SettingsReference.all.map(\.name)
            case "FILE", "DIR": [String(part)]
            // Neither a placeholder nor an example such as "tags.env=prod".
            default: part.first?.isLowercase ?? false && !part.contains("=") ? [String(part)] : []
            }
        }
    }

    /// What its first word may be, its second, and so on, by all of its usages.
    var places: [[String]] {
        let valued = options.filter(\.takesWord).map { $0.name[...] }
        var places: [[String]] = []
        for usage in help where usage.term.hasPrefix("sluice ") {
            let words = usage.term.filter { !"[]".contains($0) }.replacing(" | ", with: "|")
                .split(separator: " ")
            let own = zip(words, words.dropFirst()).filter { before, word in
                !valued.contains(before) && !word.hasPrefix("--")
                    && !["OPTIONS", "FILTER"].contains(word)
            }
            for (place, word) in own.map(\.1).dropFirst().enumerated() {
                if place == places.count { places.append([]) }
                for each in Self.candidates(for: word) where !places[place].contains(each) {
                    places[place].append(each)
                }
            }
        }
        return places
    }
}
