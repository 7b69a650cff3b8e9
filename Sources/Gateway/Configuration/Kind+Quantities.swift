extension Kind<Duration> {
    /// A duration forwards, or backwards with '-' in front.
    static func offset(upTo bound: Duration) -> Kind {
        Kind(wants: "an offset such as 90s or -2h") { written throws(Mismatch) in
            let isBackwards = written.hasPrefix("-")
            let digits =
                isBackwards || written.hasPrefix("+") ? String(written.dropFirst()) : written
            guard let distance = timeSpan(digits) else {
                throw Mismatch("\(quoted(written)) is not an offset; write one such as 90s or -2h")
            }
            guard distance <= bound else {
                let text = durationText(bound)
                throw Mismatch("\(written) is not between -\(text) and \(text)")
            }
            return isBackwards ? .zero - distance : distance
        }
    }
}
