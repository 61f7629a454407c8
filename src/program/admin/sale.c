/* /sale and /sale/history: what the survey of the fleet put on the board last. Answered from there alone, so it comes
 * at once while every server is away; what is not known then is null. */
#include <stdlib.h>

#include "orderd/admin.h"
#include "orderd/check.h"
#include "orderd/survey_board.h"

unsigned admin_sale(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    struct survey *survey = check_malloc(sizeof *survey);

    (void)request;
    survey_board_get(view->board, survey);
    if (survey->at == 0)
        survey->at = SURVEY_UNKNOWN;
    survey_json(survey, view->instance, out);
    free(survey);
    return 200;
}

unsigned admin_sale_history(const struct admin_view *view, const struct admin_request *request, struct strbuf *out)
{
    (void)request;
    survey_board_history(view->board, out);
    return 200;
}
