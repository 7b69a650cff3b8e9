import Glibc
import Logs

/// A tag while logs are filtered: its plan, and the logs that leave with it.
final class TagState {
    let plan: TagPlan
    let tag: [UInt8]
    /// For each filter of the plan what its pattern took.
    let captured: [[UInt8]]
    /// Logs with other ones have a state of their own.
    let labels: NewLabels
    /// Logs of the present batch, and whether there are any.
    fileprivate var isOpen = false
    fileprivate(set) var logs = EncodedLogs()

    init(_ plan: TagPlan, _ labels: NewLabels = .none) {
        self.plan = plan
        self.labels = labels
        tag = Array(plan.tag.utf8)
        captured = plan.filters.map { Array(($0.captured ?? "").utf8) }
    }

    func isTag(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count == tag.count, let start = text.baseAddress else { return false }
        return memcmp(start, tag, tag.count) == 0
    }
}

/// The tags that a thread's logs have or get, found by their bytes without making a String. Devices
/// invent tags, so only some are kept.
final class TagStates {
    private static let kept = 256

    private let plans: TagPlans
    private let groupsMax: Int
    private var states: [TagState?]
    /// The states with logs of this batch, in the order of their first logs.
    private var groups: [TagState] = []
    /// States of `groups` that lost their slot to another tag. Invariant: a tag has one state with
    /// logs, in its slot or here.
    private var displaced: [[UInt8]: TagState] = [:]
    /// How many states the present batch made.
    private var made = 0
    /// The states of the present batch that have labels.
    private var labelled: [LabelledTag: TagState] = [:]

    private struct LabelledTag: Hashable {
        let plan: ObjectIdentifier
        let labels: NewLabels
    }

    init(_ plans: TagPlans, groupsMax: Int) {
        self.plans = plans
        self.groupsMax = groupsMax
        states = Array(repeating: nil, count: Self.kept)
    }

    func state(of plan: TagPlan) -> TagState {
        var tag = plan.tag
        let slot = tag.withUTF8 { Self.slot(of: $0) }
        if let known = states[slot], known.plan === plan { return known }
        return keep(plan, in: slot)
    }

    /// nil when the batch has had too many tags: each costs a plan.
    func state(of tag: UnsafeBufferPointer<UInt8>) -> TagState? {
        let slot = Self.slot(of: tag)
        if let known = states[slot], known.isTag(tag) { return known }
        if !displaced.isEmpty, let known = displaced[Array(tag)] { return known }
        guard made < 4 * groupsMax else { return nil }
        made += 1
        return keep(plans.plan(for: tag), in: slot)
    }

    /// The state of logs of the same tag with these labels. nil when the batch has had too many.
    func state(_ state: TagState, with labels: NewLabels) -> TagState? {
        if state.labels == labels { return state }
        let tag = LabelledTag(plan: ObjectIdentifier(state.plan), labels: labels)
        if let known = labelled[tag] { return known }
        guard labelled.count < groupsMax else { return nil }
        let new = TagState(state.plan, labels)
        labelled[tag] = new
        return new
    }

    private func keep(_ plan: TagPlan, in slot: Int) -> TagState {
        let state = TagState(plan)
        if let old = states[slot], old.isOpen { displaced[old.tag] = old }
        states[slot] = state
        return state
    }

    private static func slot(of tag: UnsafeBufferPointer<UInt8>) -> Int {
        Int(truncatingIfNeeded: stableHash(tag) % UInt64(kept))
    }

    /// True when logs of one more tag can leave.
    func hasRoom(for state: TagState) -> Bool {
        state.isOpen || groups.count < groupsMax
    }

    /// Notes that logs leave with this tag.
    func open(_ state: TagState) {
        if state.isOpen { return }
        state.isOpen = true
        groups.append(state)
        guard state.labels == .none else { return }
        // The slot may have gone to another tag since the state was made.
        let slot = state.tag.withUnsafeBufferPointer { Self.slot(of: $0) }
        if states[slot] !== state { displaced[state.tag] = state }
    }

    func append(_ entries: UnsafeBufferPointer<UInt8>, count: Int, to state: TagState) {
        state.logs.bytes.append(contentsOf: entries)
        state.logs.count += count
    }

    /// Ends the batch.
    func takeGroups() -> [FilteredLogs.Group<EncodedLogs>] {
        defer {
            if !labelled.isEmpty { labelled.removeAll() }
            groups.removeAll(keepingCapacity: true)
            displaced.removeAll()
            made = 0
        }
        return groups.map { state in
            defer { (state.logs, state.isOpen) = (EncodedLogs(), false) }
            return (plan: state.plan, labels: state.labels, logs: state.logs)
        }
    }
}

/// The same on every gateway, and in every version: samples depend on it. FNV-1a, then
/// MurmurHash3's finalizer.
func stableHash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return hash ^ (hash >> 33)
}
