extension SenderRules {
    /// What a sender may, from the group that says who it is.
    static func read(_ section: inout Section, destinations known: Set<String>) -> SenderRules {
        let destinations = section.list("destinations", .text(upTo: 64), counts: 1...64)
        for destination in section.readableItems("destinations", .text(upTo: 64))
        where !known.contains(destination) {
            let meant = nearMiss(destination, among: known.sorted())
            section.problem(
                "destinations",
                "there is no destination \(quoted(destination))"
                    + (meant.map { "; did you mean \($0)?" } ?? "")
            )
        }
        return SenderRules(
            destinations: destinations.map { Set($0) },
            rate: section.value("rate", .rate),
            bytes: section.value("bytes", .byteRate),
            origins: section.list("origins", .origin, counts: 1...OriginList.countMax)
                .map { OriginList($0) }
        )
    }
}
