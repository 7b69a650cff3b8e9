/// What a sender may, however it showed who it is.
package struct SenderRules: Sendable, Equatable {
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
}
