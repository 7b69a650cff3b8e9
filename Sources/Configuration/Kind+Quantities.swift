import System

extension Kind<Int> {
    /// A part of a whole: "20%" is 20.
    static func percent(upTo percentMax: Int) -> Kind {
        Kind(wants: "a percentage such as 20%") { text throws(Mismatch) in
            let number = text.hasSuffix("%") ? text.dropLast() : text == "0" ? text[...] : ""
            guard !number.isEmpty, number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let percent = Int(number)
            else { throw Mismatch("\(quoted(text)) is not a percentage; write one such as 20%") }
            guard percent <= percentMax else {
                throw Mismatch("\(text) is not between 0% and \(percentMax)%")
            }
            return percent
        }
    }
}

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
