import Configuration
import Net
import System

/// The limits of each address, whatever its key. An IPv6 address counts by its /64.
struct AddressLimits: Sendable {
    let rate: RateBudget?
    let bytes: RateBudget?
    let addressesMax: Int

    /// nil: nothing is limited.
    init?(_ settings: DeviceSettings.PerAddress, bodyBytesMax: Int) {
        guard settings.rate != nil || settings.bytes != nil else { return nil }
        rate = settings.rate.map { RateBudget($0) }
        bytes = settings.bytes.map { RateBudget($0, burstMin: bodyBytesMax) }
        addressesMax = settings.addressesMax
    }
}

/// The budget of the address that a request comes from.
///
/// Every request that brings logs takes from the rate when its head arrives, whatever its outcome,
/// so a client cannot keep the gateway busy with checking keys. Bytes are taken like those of a key
/// (see `SenderBudget`). Requests without logs are free: answering them costs no more than refusing
/// them would.
struct AddressBudget: Sendable {
    private let address: Neighbourhood
    private let limits: AddressLimits
    private let book: AddressBook

    init(_ address: Neighbourhood, _ limits: AddressLimits, _ book: AddressBook) {
        self.address = address
        self.limits = limits
        self.book = book
    }

    /// Takes one request.
    func enter(_ label: DeviceLabel, at now: Moment) throws(Refusal) {
        guard let rate = limits.rate else { return }
        guard let time = take(1, of: .rate, rate, at: now) else { return }
        throw .overBudget("this address sends more requests than it may", label, after: time)
    }

    /// Refuses a request whose bytes do not fit now. Takes nothing.
    func ask(for count: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        try takeBytes(count, label, at: now, onlyAsking: true)
    }

    func take(_ count: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        try takeBytes(count, label, at: now, onlyAsking: false)
    }

    /// Takes bytes that were read already. May overdraw; the debt delays later requests.
    func charge(_ count: Int, at now: Moment) {
        guard let bytes = limits.bytes else { return }
        let most = limits.addressesMax
        book.charge(count, of: .bytes, bytes, for: address, atMost: most, at: now)
    }

    private func takeBytes(
        _ count: Int,
        _ label: DeviceLabel,
        at now: Moment,
        onlyAsking: Bool
    ) throws(Refusal) {
        guard let bytes = limits.bytes else { return }
        let time = take(count, of: .bytes, bytes, at: now, onlyAsking: onlyAsking)
        guard let time else { return }
        throw .overBudget("this address sends more bytes than it may", label, after: time)
    }

    private func take(
        _ units: Int,
        of part: AddressBook.Part,
        _ pace: RateBudget,
        at now: Moment,
        onlyAsking: Bool = false
    ) -> Duration? {
        book.take(
            units,
            of: part,
            pace,
            for: address,
            atMost: limits.addressesMax,
            at: now,
            onlyAsking: onlyAsking
        )
    }
}
