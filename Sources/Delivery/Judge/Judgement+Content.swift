extension Judgement {
    /// With which SLS refuses a packet for its size, which a smaller one cures.
    private static let codesOfSize: Set = ["PostBodyTooLarge"]

    /// SLS refuses the content of the packet. A proxy on the way may have changed it.
    var isOfContent: Bool {
        action == .split && status != 413 && !(code.map(Self.codesOfSize.contains) ?? false)
    }

    /// What it means where SLS refuses everything: not single logs are at fault, but what they all pass.
    var doubtedAsAll: Judgement {
        var judgement = self
        judgement.action = .suspect
        judgement.remedy =
            "everything that is sent to this logstore is refused, so no log is given up for now: look for what "
            + "changes requests on the way (a proxy), and at the applications and clocks of the devices; if the "
            + "logs are bad indeed, sluice resume DESTINATION has the next ones taken apart"
        return judgement
    }
}
