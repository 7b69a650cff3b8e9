import Queue

extension Destination.Intake {
    static func read(_ section: inout Section) -> Destination.Intake {
        var intake = Destination.Intake()
        let policies: Kind<LatePolicy> = .choice([
            "rewrite": .rewrite, "drop": .drop, "dead_letter": .deadLetter,
        ])
        if let policy = section.value("late_logs", policies) { intake.lateLogs = policy }
        // SLS itself refuses what is older than seven days.
        if let delay = section.value(
            "max_log_delay",
            .duration(.seconds(60) ... .seconds(7 * 86_400))
        ) {
            intake.logDelayMax = delay
        }
        let sizes: Kind<Oversize> = .choice(["truncate": .truncate, "dead_letter": .deadLetter])
        if let choice = section.value("oversize", sizes) { intake.oversize = choice }
        if let tags = foldTags(&section) { intake.foldTags = tags }
        if let keeps = section.value("keep_pack_id", .boolean) { intake.keepsPackID = keeps }
        return intake
    }

    private static func foldTags(_ section: inout Section) -> FoldTags? {
        guard section.isList("fold_tags") else { return section.value("fold_tags", .foldTags) }
        return section.list("fold_tags", .tagName, counts: 0...64).map {
            $0.isEmpty ? .none : .named($0)
        }
    }
}

extension Kind<String> {
    static var tagName: Kind {
        Kind(wants: "the name of a tag") { text throws(Mismatch) in
            guard (1...128).contains(text.utf8.count) else {
                throw Mismatch("a tag's name has 1 to 128 bytes")
            }
            return text
        }
    }
}

extension Kind<Destination.Intake.FoldTags> {
    static var foldTags: Kind {
        Kind(wants: "all, none or a list of tags") { text throws(Mismatch) in
            switch text {
            case "all": return .all
            case "none": return .none
            default:
                throw Mismatch(
                    "\(quoted(text)) is neither all nor none; write names as a list, as in [device_id]"
                )
            }
        }
    }
}
