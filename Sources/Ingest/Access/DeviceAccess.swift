import Configuration
import HTTP
import Net
import Tokens

/// Who may send from where, in which dialects. Every request is checked against it; a reload
/// replaces it. A class, so that each look costs one reference.
final class DeviceAccess: Sendable {
    let keys: DeviceKeys
    let origins: OriginRules
    let accepted: AcceptedDialects
    let preflightHeaders: PreflightHeaders
    /// nil: addresses have no limits.
    let addressLimits: AddressLimits?
    let proxies: [AddressRange]
    let plainStatus: Int

    /// Keys keep their counters and budgets from the keys of the same name in `before`.
    init(
        _ settings: DeviceSettings,
        after before: DeviceAccess? = nil,
        bodyBytesMax: Int,
        nonces: NonceMemory,
        fetched: [FetchedTokenKeys] = []
    ) {
        keys = DeviceKeys(
            settings,
            after: before?.keys,
            bodyBytesMax: bodyBytesMax,
            nonces: nonces,
            fetched: fetched
        )
        origins = OriginRules(
            common: settings.cors.origins,
            own: settings.senders.map { $0.rules.origins }
        )
        accepted = settings.accepted
        preflightHeaders = PreflightHeaders(settings.accepted, settings.cors.headers)
        addressLimits = AddressLimits(settings.perAddress, bodyBytesMax: bodyBytesMax)
        proxies = settings.proxies.ranges
        plainStatus = settings.plainStatus
    }
}
