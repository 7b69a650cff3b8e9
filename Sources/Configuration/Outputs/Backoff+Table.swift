import Delivery
import System

/// The group `retry` of a destination: when one that fails is tried again.
extension Backoff: SettingGroup {
    init() { self = .retry }

    static var settings: [Setting<Backoff>] {
        Setting("first", \.first, .duration(.milliseconds(10) ... .seconds(3600))) {
            """
            the longest wait before the first try; each further one may be twice as long. A random part \
            of it is waited
            """
        }
        Setting("most", \.longest, .duration(.milliseconds(10) ... .seconds(86_400))) {
            "the longest wait of all"
        }
        Setting("times", \.times, .count(1...100), default: "none: without a rest") {
            """
            after so many tries the destination rests for `most`, or until a new packet, `sluice flush` \
            or `sluice resume`; nothing is given up
            """
        }
    }

    func check(_ section: borrowing Section) {
        if longest < first {
            let key = section.has("most") ? "most" : "first"
            section.problem(
                key,
                "first is \(durationText(first)) and most is \(durationText(longest)); "
                    + "raise most, or lower first"
            )
        }
    }
}
