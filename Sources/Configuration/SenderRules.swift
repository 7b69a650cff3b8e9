/// What a sender may do, however it proves who it is: the same settings in `devices.keys` and
/// `devices.jwt.keys`.
package struct SenderRules: SettingGroup, Sendable, Equatable {
    /// Where it may send; nil is everywhere.
    package var destinations: Set<String>?
    /// Requests that bring logs.
    package var rate: Allowance?
    /// Bodies, inflated.
    package var bytes: Allowance?
    /// Of pages, in place of those that may send in general.
    package var origins: OriginList?

    package init(
        destinations: Set<String>? = nil,
        rate: Allowance? = nil,
        bytes: Allowance? = nil,
        origins: OriginList? = nil
    ) {
        self.destinations = destinations
        self.rate = rate
        self.bytes = bytes
        self.origins = origins
    }

    init() { self.init(destinations: nil) }

    static var settings: [Setting<SenderRules>] {
        Setting(
            "destinations",
            \.destinations,
            listOf: .destinationName,
            1...64,
            default: "all",
            as: { Set($0) }
        ) { "the allowed destinations" }
        Setting("rate", \.rate, Allowance.requests) {
            "[budget](budgets.md) of requests of all senders with this key together: `200/s`"
        }
        Setting("bytes", \.bytes, Allowance.bytes) {
            "[budget](budgets.md) of bytes of all senders with this key together: `2MiB/s`"
        }
        Setting(
            "origins",
            \.origins,
            listOf: .origin,
            1...OriginList.countMax,
            default: "`devices.cors.origins`",
            as: { OriginList($0) }
        ) { "origins of web pages that may use it, in place of those" }
    }

    func check(_ section: borrowing Section) {
        section.refuseUnknownDestinations("destinations")
    }
}
