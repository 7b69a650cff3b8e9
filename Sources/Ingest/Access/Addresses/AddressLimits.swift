import Configuration

/// What each address may send, whoever it is. A v6 address counts by its /64.
struct AddressLimits: Sendable {
    let rate: RateBudget?
    let bytes: RateBudget?
    let addressesMax: Int

    /// Nil where nothing is bounded.
    init?(_ settings: DeviceSettings.PerAddress, bodyBytesMax: Int) {
        guard settings.rate != nil || settings.bytes != nil else { return nil }
        rate = settings.rate.map { RateBudget($0) }
        bytes = settings.bytes.map { RateBudget($0, burstMin: bodyBytesMax) }
        addressesMax = settings.addressesMax
    }
}
