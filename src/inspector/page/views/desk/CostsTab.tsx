import { durationText } from '../../model/time/time-scale.ts';
import { costsOf } from '../../model/usage.ts';
import { usePage } from '../../state/page-context.ts';

/** Tokens and time of each turn of the model. */
export function CostsTab() {
  const { state } = usePage();
  const { turns, total } = costsOf(state.talk.value);
  if (turns.length === 0) return <p class="empty">The model has not replied yet.</p>;
  const longest = Math.max(1, ...turns.map(({ durationMs }) => durationMs));
  return (
    <div class="scroll pad">
      <table class="costs">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Tokens in</th>
            <th scope="col">Tokens out</th>
            <th scope="col">Time</th>
            <th scope="col" class="bar-cell" />
          </tr>
        </thead>
        <tbody>
          {turns.map((cost, index) => (
            <tr key={index}>
              <td>{cost.turn}</td>
              <td>{cost.inputTokens.toLocaleString('en')}</td>
              <td>{cost.outputTokens.toLocaleString('en')}</td>
              <td>{durationText(cost.durationMs)}</td>
              <td class="bar-cell">
                <span class="cost-bar" style={{ width: `${(100 * cost.durationMs) / longest}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td>all</td>
            <td>{total.inputTokens.toLocaleString('en')}</td>
            <td>{total.outputTokens.toLocaleString('en')}</td>
            <td>{durationText(total.durationMs)}</td>
            <td />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
