extension Judgement {
    /// With which SLS may refuse a log for its time.
    private static let codesOfTime: Set = [
        "PostBodyInvalid", "InvalidTimestamp", "ParameterInvalid",
    ]

    /// What it means when the host's clock is known to be so wrong (SLS's minus the host's) that logs with
    /// a time of this host are outside of what SLS takes: not the log is at fault, and setting the clock
    /// is the remedy.
    func doubted(for offset: Duration) -> Judgement {
        guard action == .split || action == .suspect,
            let code, Self.codesOfTime.contains(code)
        else { return self }
        var judgement = self
        judgement.action = .suspect
        judgement.kind = .clock
        judgement.remedy = HostClock.remedy(for: offset)
        return judgement
    }
}
